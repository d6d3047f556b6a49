// The ranks of a start. MPI takes a third of a second to start, more than most commands: without a launcher,
// commands that compute nothing do not start it.
#pragma once

#include "mylos/comm/options.hpp"
#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// Checks the variables that launchers set for their ranks. Ranks of an unknown launcher act as single
/// processes; then each of them prints, in commands without MPI.
bool was_launched();
/// This process' rank by these variables, also where MPI is not running; 0 without any.
int launched_rank();

/// The ranks of this start: those of MPI_COMM_WORLD, or only this process if MPI is not initialised. One
/// group for all that a command exchanges, until leave_start(). All ranks make the first call together.
RankGroup& ranks_of_start();
/// The deadline of a deck, or of the one in a checkpoint, becomes that of ranks_of_start(), which stays where
/// it is; before, it is the default of communication.timeout. All ranks call it as soon as the deck is read.
void keep_deadline(const CommunicationOptions& options);
/// For communicators of a command whose deck is that of a checkpoint: with the deadline of this start, and a
/// backend that this build has.
[[nodiscard]] CommunicationOptions communication_of_start();
/// Before MPI_Finalize.
void leave_start();
/// The same, without communication.
int rank_of_start();
int size_of_start();

}  // namespace mylos::app

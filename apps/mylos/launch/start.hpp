// Detects whether a launcher started this process as one of several ranks. MPI takes a third of a second to
// start, more than most commands: without a launcher, commands that compute nothing do not start it.
#pragma once

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// Checks the variables that launchers set for their ranks. Ranks of an unknown launcher act as single
/// processes; then each of them prints, in commands without MPI.
bool was_launched();

/// The ranks of this start: those of MPI_COMM_WORLD (which all duplicate together), or only this process if
/// MPI is not initialised.
RankGroup ranks_of_start();
/// The same, without communication.
int rank_of_start();
int size_of_start();

}  // namespace mylos::app

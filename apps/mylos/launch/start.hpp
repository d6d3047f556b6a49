// How this process was started: by a launcher as one of several ranks, or by itself. MPI takes a third of a
// second to start, more than most commands: those that compute nothing do without it where no launcher is
// there.
#pragma once

#include "mylos/comm/ranks/rank_group.hpp"

namespace mylos::app {

/// By the variables that launchers set for their ranks. An unknown launcher's ranks take themselves for
/// processes alone, which costs no more than that each of them prints, in commands that need no MPI.
bool was_launched();

/// The ranks of this start: of MPI_COMM_WORLD (which all of them duplicate together), or this process alone
/// where MPI was not initialised.
RankGroup ranks_of_start();
/// The same, where nothing is exchanged.
int rank_of_start();
int size_of_start();

}  // namespace mylos::app

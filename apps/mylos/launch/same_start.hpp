// Checks before any other work that all ranks were started in the same way.
#pragma once

namespace mylos::app {

/// Throws the same Error (bad input) on every rank if ranks run different code or have different command
/// lines, as in `mpirun -n 1 mylos train a.toml : -n 1 mylos train b.toml`. The message names the differing
/// ranks. All ranks of MPI_COMM_WORLD call it.
void require_same_start(int argument_count, char** arguments);

}  // namespace mylos::app

// Whether the ranks were started alike, before any of them does something.
#pragma once

namespace mylos::app {

/// Throws Error (bad input), the same on every rank, where ranks run different code or were given different
/// words: as `mpirun -n 1 mylos train a.toml : -n 1 mylos train b.toml` does. It names the odd ranks. All
/// ranks of MPI_COMM_WORLD call it.
void require_same_start(int argument_count, char** arguments);

}  // namespace mylos::app

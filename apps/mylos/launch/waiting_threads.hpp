// Makes OpenMP threads wait for the next kernel by a short spin, then sleep.
#pragma once

namespace mylos::app {

/// Sets the spin time of waiting threads, unless the environment already sets it (OMP_WAIT_POLICY,
/// GOMP_SPINCOUNT, KMP_BLOCKTIME, KMP_LIBRARY). GCC's runtime reads its environment when it is loaded, so
/// this starts the program again, once, with the same process, arguments and open files: call it before
/// anything else. Returns if there is nothing to do, or if the program cannot be started again.
void choose_short_spin(char** arguments);

}  // namespace mylos::app

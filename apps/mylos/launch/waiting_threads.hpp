// How threads of OpenMP wait for the next kernel: by a short spin, then asleep.
#pragma once

namespace mylos::app {

/// Sets how long waiting threads spin, unless the environment already says so (OMP_WAIT_POLICY,
/// GOMP_SPINCOUNT, KMP_BLOCKTIME, KMP_LIBRARY). GCC's runtime reads its environment when it is loaded, so
/// this starts the program again, once, with the same process, arguments and open files: call it before
/// anything else. Returns where nothing is left to be done, or the program cannot be started again.
void choose_short_spin(char** arguments);

}  // namespace mylos::app

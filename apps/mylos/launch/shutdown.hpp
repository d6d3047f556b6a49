// The end of the process, after a command has done its work: what the shutdown of libraries may not change.
#pragma once

namespace mylos::app {

/// Flushes what was printed. From now on a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) prints a line on
/// standard error and ends the process with `code`: nothing of ours runs any more but Kokkos, MPI and other
/// libraries that shut down. A crash before is a fault of the command and ends it by its signal.
void keep_exit_code(int code);

}  // namespace mylos::app

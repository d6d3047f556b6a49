// Keeps the exit code when libraries shut down after a command has done its work.
#pragma once

namespace mylos::app {

/// Flushes the output. From now on a crash (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT) prints a line on
/// standard error and ends the process with `code`: only Kokkos, MPI and other libraries still
/// shut down. An earlier crash is a fault of the command and ends it by its signal.
void keep_exit_code(int code);

}  // namespace mylos::app

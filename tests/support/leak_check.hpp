// Leaked memory of our own, told from MPI's: its plugins are unloaded before the program ends, after which
// the leak checker could no longer name them (leaks.txt), and some are unloaded while MPI starts.
#pragma once

namespace mylos::test {

/// MPI_Init_thread, whose own leaks are not counted.
void start_mpi(int* argument_count, char*** arguments);

/// Prints leaks and returns whether there are any. Always false in builds without sanitizers.
bool found_leaks();

}  // namespace mylos::test

// Leaked memory of our own, told from MPI's: its plugins are unloaded before the program ends, after which
// the leak checker could no longer name them (leaks.txt), and some are unloaded while MPI starts.
#pragma once

#include <functional>

namespace mylos::test {

/// Does the work; what it leaks is not counted.
void without_leak_check(const std::function<void()>& work);

/// Prints leaks and returns whether there are any. Always false in builds without sanitizers.
bool found_leaks();

}  // namespace mylos::test

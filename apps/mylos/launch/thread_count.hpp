// The number of threads of a rank.
#pragma once

#include "launch/placement.hpp"

namespace mylos::app {

/// Returns `asked` (run.threads, at most max_threads) if it is not 0; else the value of `variable`, the text
/// of OMP_NUM_THREADS; else, if that is null or blank, the cores of `share` divided by the ranks that share
/// them, or by `ranks` if those are more, and no more than those of its quota, divided likewise. Of a list,
/// "4,2", the first number is used: the others are for nested threads. Throws Error (bad_input) if the value
/// is not a number from 1 to max_threads.
[[nodiscard]] int thread_count(int asked, const char* variable, const CoreShare& share, int ranks);

/// True if the deck or the environment sets the number.
[[nodiscard]] bool asks_for_threads(int asked, const char* variable);

}  // namespace mylos::app

// How many threads a rank starts.
#pragma once

#include "launch/placement.hpp"

namespace mylos::app {

/// `asked` (run.threads, at most max_threads) where it is not 0; else what `variable`, the text of
/// OMP_NUM_THREADS, says; else, where that is null or blank, the cores of `share` divided by the ranks that
/// share them, or by `ranks` where those are more. Of a list, "4,2", the first number counts: the others are
/// for threads that threads start. Throws Error (bad_input) where that is no number from 1 to max_threads.
[[nodiscard]] int thread_count(int asked, const char* variable, const CoreShare& share, int ranks);

/// Whether somebody asked for a number: deck or environment.
[[nodiscard]] bool asks_for_threads(int asked, const char* variable);

}  // namespace mylos::app

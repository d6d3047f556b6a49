// What a command writes to standard output and standard error.
#pragma once

#include <string>

#include "mylos/train/history/progress.hpp"

namespace mylos::app {

/// Of rank 0; silent on the other ranks. For commands whose product is what they print: its lines throw Error
/// where they cannot be written.
Output standard_output(int rank);

/// Throws Error where something that was printed cannot be written.
void flush_standard_output();

/// The same as standard_output() for the log of a run, which is worth more than its log: what cannot be
/// written (a full disk, a reader that has gone) is given up, and standard error says so once. From then on
/// this process ignores SIGPIPE.
Output run_log(int rank);

/// A line on standard error, as far as that can be written.
void print_error(const std::string& line);

}  // namespace mylos::app

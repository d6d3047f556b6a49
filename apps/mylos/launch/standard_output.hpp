// Standard output and standard error of a command.
#pragma once

#include <string>

#include "mylos/train/history/progress.hpp"

namespace mylos::app {

/// Prints on rank 0; silent on the other ranks. For commands whose result is their output: a line that cannot
/// be written throws Error.
Output standard_output(int rank);

/// Throws Error if printed text cannot be written.
void flush_standard_output();

/// Like standard_output(), for the log of a run, which must not end because of its log: lines that cannot be
/// written (a full disk, a closed pipe) are dropped, and standard error reports it once. From then on this
/// process ignores SIGPIPE.
Output run_log(int rank);

/// Writes a line to standard error; ignores failures.
void print_error(const std::string& line);

}  // namespace mylos::app

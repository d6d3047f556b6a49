// The only exception type of Mylos, and the exit codes of its causes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace mylos {

/// Exit codes of the `mylos` command.
enum class ExitCode : int {
  done = 0,
  failed = 1,
  bad_input = 2,
  does_not_fit = 3,
  diverged = 4,
  requeue = 85,
};

/// The exception that reports every failure. The message says what is wrong, where, and what would be right.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Throws Error with ExitCode::bad_input: the user can correct the cause (deck, file, command line).
template <class... Arguments>
[[noreturn]] void fail_input(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Error(ExitCode::bad_input, fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Throws Error with ExitCode::failed: the run cannot continue (I/O, MPI, a library, a broken invariant).
template <class... Arguments>
[[noreturn]] void fail_run(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  throw Error(ExitCode::failed, fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace mylos

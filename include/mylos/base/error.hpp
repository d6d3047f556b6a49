// The only exception type of Mylos, and the exit codes of its causes.
#pragma once

#if __has_include(<fmt/base.h>)
#include <fmt/base.h>  // from fmt 11 on, whose core.h includes all of format.h
#else
#include <fmt/core.h>
#endif

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "mylos/base/error_id.hpp"

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
  /// `message` without the id's name, which what() appends.
  Error(ExitCode code, ErrorId id, std::string_view message);

  /// `exception` itself if it is an Error; otherwise an Error of code `failed` with its text: out-of-memory
  /// for std::bad_alloc, system-failed for std::system_error, internal for others.
  [[nodiscard]] static Error of(const std::exception& exception);

  /// An Error from what() of another, which another rank or process threw.
  [[nodiscard]] static Error of_text(ExitCode code, std::string_view what);

  /// The same cause, reported with more context: `message` replaces message().
  [[nodiscard]] Error with(std::string_view message) const { return {code_, id_, message}; }

  /// Returns whose fault it is, as the command's exit code.
  [[nodiscard]] ExitCode code() const noexcept { return code_; }
  /// Returns the cause, by which programs distinguish errors (docs/reference/errors.md).
  [[nodiscard]] ErrorId id() const noexcept { return id_; }
  /// what() is this and the id's name: "deck.toml:3: unknown key 'run.step' [unknown-key]".
  [[nodiscard]] std::string_view message() const noexcept { return {what(), length_}; }

 private:
  ExitCode code_;
  ErrorId id_;
  std::size_t length_;  // of the message, without the id's name
};

namespace detail {
/// Throws Error with the formatted message.
[[noreturn]] void fail(ExitCode code, ErrorId id, fmt::string_view format, fmt::format_args arguments);
}  // namespace detail

/// Throws Error with ExitCode::bad_input: the user can correct the cause (deck, file, command line).
template <class... Arguments>
[[noreturn]] void fail_input(ErrorId id, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  detail::fail(ExitCode::bad_input, id, format, fmt::make_format_args(arguments...));
}

/// Throws Error with ExitCode::failed: the run cannot continue (I/O, MPI, a library, a broken invariant).
template <class... Arguments>
[[noreturn]] void fail_run(ErrorId id, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  detail::fail(ExitCode::failed, id, format, fmt::make_format_args(arguments...));
}

}  // namespace mylos

// Messages about a wrong command line.
#pragma once

#include <CLI/CLI.hpp>

#include "mylos/base/error.hpp"

namespace mylos::app {

/// The help text of --best.
inline constexpr const char* best_meaning =
    "Of a run's folder, the checkpoint that checkpoint.keep_best kept";

/// Accepts integers from `least` to `most`.
CLI::Validator integer_from(std::int64_t least, std::int64_t most);

/// Accepts byte counts from `least` to `most`: "64 KiB".
CLI::Validator bytes_from(std::int64_t least, std::int64_t most);

/// Accepts finite numbers of at least 0.
CLI::Validator number_from_0();

/// Throws CLI::ParseError if an option or a word of the command is empty.
void refuse_empty(const CLI::App& app);

/// Prints --help, --version or the error, on one rank only. Returns the exit code: done or bad_input.
ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mylos::app

// A wrong command line, and what is said of it.
#pragma once

#include <CLI/CLI.hpp>

#include "mylos/base/error.hpp"

namespace mylos::app {

/// Accepts integers from `least` to `most`.
CLI::Validator integer_from(std::int64_t least, std::int64_t most);

/// Prints --help, --version or what is wrong, on one rank alone. The exit code: done or bad_input.
ExitCode report_usage(const CLI::App& app, const CLI::ParseError& error);

}  // namespace mylos::app

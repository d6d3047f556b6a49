// mylos types and check-precision: their command-line options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

/// Adds both; `command` becomes the one that the command line asks for. Both arguments must outlive the
/// parsing.
void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

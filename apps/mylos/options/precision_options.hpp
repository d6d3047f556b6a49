// mylos types and check-precision: their command-line options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

/// Adds both, and sets `command` to the selected one. Both arguments must outlive the parsing.
void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

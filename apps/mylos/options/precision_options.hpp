// mylos types and check-precision: what each can be told on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

/// Adds both; `command` becomes the one that the command line asks for. Both arguments must outlive the
/// parsing.
void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

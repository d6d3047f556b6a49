// mylos report: its command-line options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

/// Adds `report`, and sets `command` to it if the command line selects it. Both arguments must outlive the
/// parsing.
void add_report(CLI::App& app, ReportArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

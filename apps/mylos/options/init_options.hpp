// The command line of `mylos init`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

void add_init(CLI::App& app, InitArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

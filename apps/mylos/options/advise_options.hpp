// The command line of `mylos advise`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

void add_advise(CLI::App& app, AdviseArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

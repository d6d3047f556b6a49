// The command line of `mylos convert`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

void add_convert(CLI::App& app, ConvertArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

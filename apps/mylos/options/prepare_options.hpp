// mylos prepare: the command-line options of each of its kinds.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "commands.hpp"

namespace mylos::app {

struct PrepareArguments {
  PrepareIdxArguments idx;
  PrepareCsvArguments csv;
  PrepareImagesArguments images;
  PrepareFields fields;
  PrepareTextArguments text;
  PrepareTokensArguments tokens;
  std::string stamp;
};

/// Adds all kinds, and sets `command` to the selected one. Both arguments must outlive the parsing.
void add_prepare(CLI::App& app, PrepareArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

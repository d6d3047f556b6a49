// mylos prepare: what each of its kinds can be told on the command line.
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

/// Adds them all; `command` becomes the one that the command line asks for. Both arguments must outlive the
/// parsing.
void add_prepare(CLI::App& app, PrepareArguments& arguments, std::function<ExitCode()>& command);

}  // namespace mylos::app

#include "options/precision_options.hpp"

namespace mylos::app {

void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, std::function<ExitCode()>& command) {
  app.add_subcommand("types",
                     "The types that numbers are kept in: limits, uses, and how this machine "
                     "multiplies them")
      ->callback([&command] { command = types_command; });

  CLI::App* check =
      app.add_subcommand("check-precision", "What 16 bits would do to the numbers of a file, and a verdict");
  check
      ->add_option(
          "file", arguments.file,
          "Dataset of `mylos prepare` (its inputs and targets), checkpoint, or a run's folder (masters "
          "and moments)")
      ->required();
  check->add_option(
      "--deck", arguments.deck,
      "Of a dataset: as this deck's data.normalize scales the numbers (default: as they are stored)");
  CLI::Option* json = check->add_flag("--json", arguments.json, "Print JSON, with histograms by exponent");
  check
      ->add_flag("--histogram", arguments.histogram,
                 "Also print how many numbers of each array have which binary exponent")
      ->excludes(json);
  check->callback([&] { command = [&] { return check_precision_command(arguments); }; });
}

}  // namespace mylos::app

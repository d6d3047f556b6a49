#include "options/options.hpp"

namespace mylos::app {

void add_precision(CLI::App& app, CheckPrecisionArguments& arguments, Command& command) {
  app.add_subcommand("types",
                     "The number types: limits, uses, and how this machine "
                     "multiplies them")
      ->callback([&command] { command = types_command; });

  CLI::App* check =
      app.add_subcommand("check-precision", "The errors of a file's numbers in 16 bits, and a verdict");
  check
      ->add_option(
          "file", arguments.file,
          "Dataset of `mylos prepare` (its inputs and targets), checkpoint, or a run's folder (masters "
          "and moments)")
      ->required();
  check->add_option("--deck", arguments.deck,
                    "For a dataset: scale the numbers by this deck's data.normalize (default: as stored)");
  CLI::Option* json = check->add_flag("--json", arguments.json, "Print JSON, with histograms by exponent");
  check
      ->add_flag("--histogram", arguments.histogram,
                 "Also print a histogram of binary exponents for each array")
      ->excludes(json);
  check->callback([&] { command = [&] { return check_precision_command(arguments); }; });
}

}  // namespace mylos::app

#include "launch/usage.hpp"
#include "options/options.hpp"

namespace mylos::app {

void add_export(CLI::App& app, ExportArguments& arguments, Command& command) {
  CLI::App* exported = app.add_subcommand(
      "export", "Write a run's network as a model file: weights, scaling and names, without the optimizer");
  exported
      ->add_option(
          "run", arguments.run.path,
          "Run's folder or its checkpoints folder (the newest valid checkpoint), or a checkpoint file")
      ->required();
  exported->add_option("output", arguments.output, "The model file to write, MODEL.h5")->required();
  exported
      ->add_option("--type", arguments.type,
                   "The type of the weights, in which the model computes (default: the run's); layers in "
                   "precision.rules keep theirs")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  exported->add_flag("--best", arguments.run.best, best_meaning);
  exported->add_flag("--average", arguments.run.average, "The weights' moving average (optimizer.average)");
  exported->footer("The file is for eval, predict, sample, info and programs that use the library.");
  exported->callback([&] { command = [&] { return export_command(arguments); }; });
}

}  // namespace mylos::app

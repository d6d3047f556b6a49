#include <limits>

#include "launch/usage.hpp"
#include "options/options.hpp"

namespace mylos::app {

void add_calibrate(CLI::App& app, CalibrateArguments& arguments, Command& command) {
  CLI::App* calibrate = app.add_subcommand(
      "calibrate",
      "Measure intervals of a regression on held-out samples, and write them with its model file");
  calibrate
      ->add_option(
          "run", arguments.run.path,
          "Run's folder or its checkpoints folder (the newest valid checkpoint), or a checkpoint file")
      ->required();
  calibrate->add_flag("--ensemble", arguments.ensemble,
                      "Intervals of the mean of several networks: mylos calibrate --ensemble RUN RUN ... "
                      "--out FOLDER, which gets a model file of each");
  calibrate->add_option("more", arguments.more, "With --ensemble: the other networks");
  CLI::Option* data =
      calibrate->add_option("--data", arguments.data, "Dataset file of samples that the run has not seen");
  calibrate
      ->add_option("--split", arguments.split,
                   "Without --data: the part of the deck's data, validation or test")
      ->excludes(data)
      ->check(CLI::IsMember({"validation", "test", "train"}))
      ->capture_default_str();
  calibrate
      ->add_option("--coverage", arguments.coverage,
                   "The probability with which an interval contains the target, between 0 and 1")
      ->capture_default_str();
  calibrate
      ->add_option(
          "--rollout", arguments.rollout,
          "Also intervals of rollouts from every level of --data or of the test files, for lead times "
          "of 1 to this many steps: `mylos rollout` writes them")
      ->check(integer_from(1, std::numeric_limits<std::int32_t>::max()));
  calibrate->add_option(
      "--out", arguments.output,
      "The model file to write (default: calibrated.h5 in the run's folder); with --ensemble a folder");
  calibrate->add_flag("--input-statistics", arguments.input_statistics,
                      "Also store mean and covariance of the training inputs, as `mylos export` does");
  calibrate->add_flag("--best", arguments.run.best, best_meaning);
  calibrate->add_flag("--average", arguments.run.average, "The weights' moving average (optimizer.average)");
  calibrate->footer(
      "predict and rollout write the bounds of a calibrated model; eval and rollout --truth measure them.");
  calibrate->callback([&] { command = [&] { return calibrate_command(arguments); }; });
}

}  // namespace mylos::app

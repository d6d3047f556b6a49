#include <limits>

#include "launch/usage.hpp"
#include "options/options.hpp"

namespace mylos::app {

void add_rollout(CLI::App& app, RolloutArguments& arguments, Command& command) {
  CLI::App* rollout = app.add_subcommand(
      "rollout", "Apply a network to its own outputs, step after step, and compare it with the truth");
  rollout
      ->add_option("run", arguments.run.path,
                   "Run's folder or its checkpoints folder (the newest valid checkpoint), a checkpoint or a "
                   "model file")
      ->required();
  rollout
      ->add_option("initial", arguments.start,  // CLI11 2.5 takes no name that an option has too: --start
                   "File of arrays as in the run's [data.arrays]: the levels to begin with, constants, and "
                   "forcings of later levels")
      ->required();
  rollout->add_option("--steps", arguments.steps, "Steps, of data.arrays.ahead levels each")
      ->required()
      ->check(integer_from(1, std::numeric_limits<std::int32_t>::max()));
  rollout
      ->add_option(
          "--out", arguments.output,
          "File for the levels, in the layout of `initial`; tables of errors, spectra and fields have "
          "its name with the endings .errors.csv, .errors.nc, .spectrum.csv and .rollout.json")
      ->required();
  CLI::Option* truth = rollout->add_option(
      "--truth", arguments.truth,
      "File of arrays with the true levels, counted as those of `initial`; it may be the same "
      "file. Errors by variable and lead time: .errors.nc");
  rollout
      ->add_option(
          "--climatology", arguments.climatology,
          "File (or pattern) of the arrays that are predicted, without an axis \"time\", or whose mean "
          "over it is meant, or with an axis \"dayofyear\" in its place; \"training\" is the mean of the "
          "run's training files, \"training-day\" that by day of the year: for anomaly correlations, and as "
          "a baseline")
      ->needs(truth);
  CLI::Option* ensemble =
      rollout->add_flag("--ensemble", arguments.ensemble,
                        "Several networks predict each start: mylos rollout --ensemble RUN RUN ... INITIAL");
  rollout->add_option("more", arguments.more, "With --ensemble: the other words");
  CLI::Option* perturb = rollout
                             ->add_option("--perturb", arguments.perturb,
                                          "Standard deviation of normal noise that each number of the state "
                                          "gets at the start, in normalised units")
                             ->check(CLI::PositiveNumber);
  CLI::Option* members = rollout
                             ->add_option("--members", arguments.members,
                                          "Rollouts of each network from each start, with noise of their own")
                             ->check(integer_from(2, 1000))
                             ->needs(perturb);
  perturb->needs(members);
  CLI::Option* masks =
      rollout
          ->add_option("--mc-dropout", arguments.dropout_masks,
                       "Rollouts of the network from each start, each with a dropout mask of its own")
          ->check(integer_from(2, 1000))
          ->excludes(ensemble)
          ->excludes(perturb);
  CLI::Option* seed = rollout
                          ->add_option("--seed", arguments.seed,
                                       "Seed of the noise, or of the masks (default: the run's seed)")
                          ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()));
  rollout
      ->add_option("--sample", arguments.samples,
                   "Members, if the arrays have an axis \"sample\": numbers and ranges from 0, such as 3 or "
                   "0:8,12; all")
      ->capture_default_str();
  rollout
      ->add_option("--start", arguments.starts,
                   "First levels of the members, likewise: each begins a rollout of each sample")
      ->capture_default_str();
  add_space(*rollout, arguments.mesh);
  rollout->add_flag("--best", arguments.run.best, best_meaning);
  rollout->add_flag("--average", arguments.run.average, "The weights' moving average (optimizer.average)");
  rollout->footer(
      "Under mpirun the members are divided over the ranks. Levels are counted from 0 in the file, in steps "
      "of the time\n"
      "slice of [data.arrays], whose beginning and end do not apply.");
  rollout->callback([&, perturb, masks, seed] {
    if (seed->count() > 0 && perturb->count() + masks->count() == 0)
      throw CLI::RequiresError("--seed", "--perturb or --mc-dropout");
    command = [&] { return rollout_command(arguments); };
  });
}

}  // namespace mylos::app

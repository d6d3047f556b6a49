#include <limits>

#include "launch/usage.hpp"
#include "options/options.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_counted = std::numeric_limits<std::int32_t>::max();

}  // namespace

void add_sweep(CLI::App& app, SweepArguments& arguments, const StopSources& stop, Command& command) {
  CLI::App* sweep = app.add_subcommand("sweep", "Train the network of a deck with many values of its keys");
  sweep->add_option("deck", arguments.deck, "The deck (TOML); with --best the folder of a sweep")->required();
  sweep->add_option(
      "keys", arguments.words,
      "section.key=a,b,c: these values; section.key=low:high or low:high:log: numbers of a range; "
      "section.key=value: overrides the deck for all members");
  CLI::Option* out = sweep->add_option(
      "--out", arguments.output,
      "Folder of the sweep (default: runs/NAME-sweep); with --best: of the decks, a file for each");
  CLI::Option* trials = sweep->add_option(
      "--trials", arguments.trials,
      "This number of members, drawn by Latin hypercube sampling; without it all points of the grid");
  trials->check(integer_from(1, max_counted));
  sweep->add_option("--ranks-per-trial", arguments.ranks_per_trial, "Ranks that train a member together")
      ->check(integer_from(1, max_counted))
      ->capture_default_str();
  sweep->add_option("--metric", arguments.metric,
                    "Metric by which members are compared, such as validation.accuracy (default: the "
                    "validation loss, or else "
                    "that of the test data)");
  CLI::Option* halving = sweep->add_flag(
      "--halving", arguments.halving,
      "Stop members early (ASHA): only the best 1/factor of those that reach a rung are trained to the next");
  CLI::Option* first_steps =
      sweep->add_option("--first-steps", arguments.first_steps,
                        "Steps of the first rung (default: those of the deck / factor^2, rounded up)");
  first_steps->check(integer_from(1, max_counted))->needs(halving);
  sweep->add_option("--factor", arguments.factor, "Ratio of the steps of a rung to those of the previous one")
      ->check(integer_from(2, 1000))
      ->capture_default_str()
      ->needs(halving);
  CLI::Option* budget =
      sweep->add_option("--budget", arguments.budget,
                        "Rungs are steps, or seconds of training: F, F x factor and F x factor^2");
  budget->check(CLI::IsMember({"steps", "time"}))->capture_default_str()->needs(halving);
  sweep->add_option("--first-seconds", arguments.first_seconds, "F, with --budget time")
      ->check(integer_from(1, max_counted))
      ->needs(budget)
      ->excludes(first_steps);
  sweep->add_option("--seed", arguments.seed, "Seed of the random trials")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str()
      ->needs(trials);
  CLI::Option* best = sweep->add_option(
      "--best", arguments.best,
      "Train nothing; print the decks of the best N members of a sweep's folder, or write them to --out");
  best->check(integer_from(1, max_counted));
  for (CLI::Option* other : sweep->get_options())
    if (other != best && other != out && other->get_name() != "deck" && other != sweep->get_help_ptr())
      best->excludes(other);
  sweep->footer(
      "Under mpirun the ranks are divided into groups of --ranks-per-trial, and each group trains one member "
      "after "
      "the other, each in a run folder, FOLDER/members/0000 and so on. FOLDER/sweep.csv has a row for each "
      "member.\n"
      "SIGUSR1, SIGTERM, SIGINT or a file named `stop` in FOLDER: all members write a checkpoint, and the "
      "command ends "
      "with exit code 85. The same command continues a sweep that was stopped or killed.");
  sweep->callback([&] {
    if (arguments.best == 0 && arguments.words.empty()) throw CLI::RequiredError("keys");
    command = [&] {
      return arguments.best > 0 ? print_best_decks(arguments.deck, arguments.best, arguments.output)
                                : sweep_command(arguments, stop);
    };
  });
}

}  // namespace mylos::app

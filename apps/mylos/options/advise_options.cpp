#include "options/options.hpp"

#include "launch/usage.hpp"
#include "mylos/train/adapt/type_trials.hpp"

namespace mylos::app {
namespace {

constexpr std::int64_t max_rounds = 1000;

}  // namespace

void add_advise(CLI::App& app, AdviseArguments& arguments, Command& command) {
  CLI::App* advise = app.add_subcommand(
      "advise", "Try a deck's own steps in fp32, bf16 and fp16, and recommend a type for this machine");
  advise->add_option("deck", arguments.deck, "The deck (TOML); `mylos manual` lists every key")->required();
  advise->add_option("overrides", arguments.overrides, "section.key=value: overrides the deck");
  advise->add_option("--out", arguments.output,
                     "The deck to write (default: DECK.advised.toml beside DECK.toml); it must not exist");
  advise->add_option("--steps", arguments.steps, "Steps of each type whose losses are compared")
      ->check(integer_from(min_trial, longest_trial))
      ->capture_default_str();
  advise->add_option("--rounds", arguments.rounds, "Timings of each setting, interleaved with the others")
      ->check(integer_from(1, max_rounds))
      ->capture_default_str();
  advise->add_flag("--json", arguments.json, "Print only JSON");
  advise->footer(
      "Start it like the run: with the same number of ranks and threads, and nothing else on the "
      "machine. It "
      "touches\nno folder of a run. Exit code 3: no type fits the budget.");
  advise->callback([&] { command = [&] { return advise_command(arguments); }; });
}

}  // namespace mylos::app

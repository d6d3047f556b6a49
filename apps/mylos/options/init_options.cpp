#include "options/options.hpp"

namespace mylos::app {

void add_init(CLI::App& app, InitArguments& arguments, Command& command) {
  CLI::App* init =
      app.add_subcommand("init", "Write the initial weights of a run of a deck, as a checkpoint of step 0");
  init->add_option("deck", arguments.deck, "The deck (TOML)")->required();
  init->add_option("output", arguments.output, "The checkpoint to write, FILE.h5")->required();
  init->add_option("overrides", arguments.overrides, "section.key=value: overrides the deck");
  init->add_option("--from", arguments.from,
                   "Checkpoint or FILE.safetensors with the weights, as with run.initial and [initial]; "
                   "without it they are drawn, or those of the deck's run.initial");
  init->footer(
      "The file is for run.initial, eval, predict, sample and convert. It holds no optimizer: no run "
      "restarts "
      "from it.");
  init->callback([&] { command = [&] { return init_command(arguments); }; });
}

}  // namespace mylos::app

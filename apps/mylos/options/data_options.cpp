#include "options/options.hpp"

#include "launch/usage.hpp"

namespace mylos::app {

void add_data(CLI::App& app, DataArguments& arguments, Command& command) {
  CLI::App* data = app.add_subcommand(
      "data", "Show what a deck makes of its data files: arrays, samples, statistics, speed, a picture");
  data->add_option("deck", arguments.deck, "The deck (TOML)")->required();
  data->add_option("overrides", arguments.overrides, "section.key=value: overrides the deck");
  data->add_option("--picture", arguments.picture,
                   "Draw the inputs and targets of a sample: FILE.svg with titles and ranges, or FILE.png, "
                   "the panels alone");
  data->add_option("--sample", arguments.sample, "The training sample of the picture, counted from 0")
      ->check(integer_from(0, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  data->callback([&] { command = [&] { return data_command(arguments); }; });
}

}  // namespace mylos::app

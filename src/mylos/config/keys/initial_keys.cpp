// [initial]: the weights that a run takes from run.initial.
#include <algorithm>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

std::ptrdiff_t stars_of(const std::string& pattern) {
  return std::count(pattern.begin(), pattern.end(), '*');
}

void add_renames(Key& rename) {
  auto keys = tables_of(rename, [](auto& options) -> auto& { return options.initial.rename; },
                        {.mistake = [](const Options& options) -> Found {
                          const auto& [from, to] = options.initial.rename.back();
                          if (stars_of(from) >= stars_of(to)) return std::nullopt;
                          return fmt::format("\"{}\" for 'to', which has more stars than 'from' = \"{}\"",
                                             printable(to), printable(from));
                        }});
  const std::string type = "name, '*' for any characters";
  keys.text("from", &RenameRule::from, is_path, type, "The tensors of the file. Required.").require();
  keys.text("to", &RenameRule::to, is_path, type,
            "The parameters. A '*' stands for the text that the '*' in `from` has matched. Required.")
      .require();
}

}  // namespace

void add_initial_keys(Schema& schema) {
  Keys keys(
      schema, "initial",
      "The weights that a run takes from the file `run.initial` before its first step "
      "(`docs/how-to/initial.md`).",
      [](auto& options) -> auto& { return options.initial; });
  const auto names = patterns_type("name or list of names, '*' for any characters");
  keys.add("include", &InitialOptions::include, names,
           "Names of the parameters to take from the file: `head/weight`, as printed by `mylos info`.");
  keys.add("exclude", &InitialOptions::exclude, names,
           "Exceptions from `include`, which are drawn at random: `exclude = \"head/*\"` for another number "
           "of classes.");
  keys.choice("missing", &InitialOptions::missing,
              Words<MissingWeights>{{"error", MissingWeights::refuse}, {"draw", MissingWeights::draw}},
              "Treatment of parameters that the file lacks: error refuses the run, draw draws them at random "
              "and logs it.");
  keys.boolean(
      "average", &InitialOptions::average,
      "Takes the moving average of a checkpoint's weights (`optimizer.average`) instead of the weights.");
  keys.add("ignore", &InitialOptions::ignore, patterns_type("key or list of keys, '*' for any characters"),
           "Keys that may differ from the deck stored in the file, although the network then computes "
           "differently with the weights taken. Without this key such a file is refused and the message "
           "lists the keys: `model.activation`, `model.layers.conv1.stride`, `data.normalize`. A listed key "
           "that does not differ is refused.");
  keys.choice("normalization", &InitialOptions::normalization,
              Words<InitialNormalization>{{"auto", InitialNormalization::automatic},
                                          {"keep", InitialNormalization::keep},
                                          {"recompute", InitialNormalization::recompute}},
              "The shift and scale of inputs and targets (`data.normalize`). auto: those stored in the file, "
              "if the layer that reads the inputs (computes the outputs) is taken from it and this run has "
              "the same variables, by number and, if both name them, by name; otherwise those of this run's "
              "data. keep: the same, and the run is refused where it has other variables. recompute: those "
              "of this run's data. The log says which.");
  add_renames(keys.add("rename", "", "",
                       "Maps names of the file's tensors to names of parameters: `[[initial.rename]]`, "
                       "`from = \"encoder.*.weight\"`, `to = \"hidden*/weight\"`, as below. The last "
                       "matching table applies."));
  keys.only_with(with_given("run.initial"));
}

}  // namespace mylos

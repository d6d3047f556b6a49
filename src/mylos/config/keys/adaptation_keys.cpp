// [precision.adaptation]: the trials at the start of a run with precision.adapt, and its later checks.
#include <algorithm>

#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/type_words.hpp"

namespace mylos {
namespace {

// A trial needs steps to time after its warm-up; a trainer stores at most the upper limit.
constexpr IntegerRange trial_steps{4, 1000};

void fill_types(Key& key) {
  key.read = [](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr) return describe(value);
    if (list->empty()) return "an empty list";
    std::vector<DType> types;
    for (const Value& entry : *list) {
      const auto* held = std::get_if<std::string>(&entry.held);
      const auto word = std::find_if(type_words().begin(), type_words().end(), [held](const auto& candidate) {
        return held != nullptr && candidate.first == *held;
      });
      if (word == type_words().end()) return describe(entry) + " in the list";
      if (std::find(types.begin(), types.end(), word->second) != types.end())
        return describe(entry) + " twice in the list";
      types.push_back(word->second);
    }
    options.precision.adaptation.types = std::move(types);
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::List list;
    for (const DType type : options.precision.adaptation.types) list.push_back({std::string(name_of(type))});
    return Value{std::move(list)};
  };
}

}  // namespace

void add_adaptation_keys(Schema& schema) {
  Keys keys(
      schema, "precision.adaptation",
      "Settings of a run with `precision.adapt = true`: the trials at its start and its later checks.",
      [](auto& options) -> auto& { return options.precision.adaptation; });
  Key& types =
      keys.add("types", "list of " + alternatives({"bf16", "fp16", "fp32"}) + ", each once", "a ",
               "The candidates for `precision.compute`: the run chooses the fastest type whose losses in a "
               "trial stay close to those in float. With a single type there are no trials.");
  fill_types(types);
  keys.finish(types);
  keys.integer("steps", &AdaptationOptions::steps, trial_steps, "steps",
               "The length of each trial, whose losses are compared with those in float.");
  keys.number("loss_gap", &AdaptationOptions::loss_gap, {0, true, 1, true}, "",
              "The largest accepted difference from the loss in float, relative to that loss.");
  keys.number("least_gain", &AdaptationOptions::least_gain, {0, true, 1, false}, "",
              "The smallest accepted gain: 16 bits must save this fraction of the time of a step in float, "
              "otherwise the run computes in float.");
  keys.integer("every", &AdaptationOptions::every, {1, max_count}, "steps",
               "Interval between checks of the overflows, which adapt the loss scale's growth.");
  keys.only_with(with("precision.adapt", {"true"}));
  keys.only_with({"steps", "loss_gap", "least_gain"},
                 {"two types or more to choose from",
                  {"precision.adaptation.types"},
                  [](const Options& options) { return options.precision.adaptation.types.size() > 1; }});
}

}  // namespace mylos

// [precision.adaptation]: the trials at the start of a run with precision.adapt, and its later checks.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/type_words.hpp"

namespace mylos {
namespace {

// A trial needs steps to time after its warm-up; a trainer stores at most the upper limit.
constexpr IntegerRange trial_steps{4, 1000};

}  // namespace

void add_adaptation_keys(Schema& schema) {
  Keys keys(
      schema, "precision.adaptation",
      "Settings of a run with `precision.adapt = true`: the trials at its start and its later checks.",
      [](auto& options) -> auto& { return options.precision.adaptation; });
  keys.add("types", &AdaptationOptions::types,
           list_type(word_type(type_words()),
                     {.text = "list of " + alternatives({"bf16", "fp16", "fp32"}) + ", each once",
                      .min = 1,
                      .distinct = true}),
           "The candidates for `precision.compute`: the run chooses the fastest type whose losses in a trial "
           "stay close to those in float. With a single type there are no trials.");
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

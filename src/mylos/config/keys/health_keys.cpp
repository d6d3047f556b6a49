// [health]: the quantities that a run monitors, and the thresholds of its warnings.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

constexpr std::size_t max_patterns = 1000;

void fill_ignore(Key& key) {
  key.read = [](Options& options, const Value& value) -> std::optional<std::string> {
    const auto* list = std::get_if<Value::List>(&value.held);
    if (list == nullptr || list->size() > max_patterns) return describe(value);
    std::vector<std::string> patterns;
    for (const Value& entry : *list) {
      const auto* pattern = std::get_if<std::string>(&entry.held);
      if (pattern == nullptr || !is_path(*pattern)) return describe(entry) + " in the list";
      patterns.push_back(*pattern);
    }
    options.health.ignore = std::move(patterns);
    return std::nullopt;
  };
  key.write = [](const Options& options) -> std::optional<Value> {
    Value::List list;
    for (const std::string& pattern : options.health.ignore) list.push_back({pattern});
    return Value{std::move(list)};
  };
}

/// Returns the condition that a run writes checkpoints, to which it can rewind, before its end.
Condition with_checkpoints() {
  return {"checkpoints to return to (checkpoint.every, every_minutes or keep_best)",
          {"checkpoint.every"},
          [](const Options& options) {
            const CheckpointOptions& checkpoint = options.checkpoint;
            return checkpoint.every > 0 || checkpoint.every_minutes > 0 || !checkpoint.keep_best.empty();
          }};
}

}  // namespace

void add_health_keys(Schema& schema) {
  Keys keys(
      schema, "health", "What a run looks at while it trains, and from where on it warns (`docs/health.md`).",
      [](auto& options) -> auto& { return options.health; });
  constexpr NumberRange threshold{0, true, 1e30, true};
  constexpr NumberRange part{0, true, 1, true};
  keys.integer(
      "every", &HealthOptions::every, {0, largest_count}, "steps",
      "How often gradient, weights and update of every parameter are looked at, for `health.csv` and for "
      "warnings that name a layer. 0: never; what steps tell of themselves is watched in any case.");
  Key& ignore = keys.add("ignore", "list of names of layers or parameters, or of patterns with '*'", "a ",
                         "Of these nothing is warned: `ignore = [\"embedding\", \"*/bias\"]`.");
  fill_ignore(ignore);
  keys.finish(ignore);
  keys.number(
      "vanishing_norm", &HealthOptions::vanishing_norm, threshold, "",
      "Gradients whose norm is below this for 5 steps, or those of a parameter in 3 looks, vanish. 0: no "
      "warning, here and in the keys below.");
  keys.number("exploding_norm", &HealthOptions::exploding_norm, threshold, "",
              "Gradients whose norm, before clipping, is above this in a step explode.");
  keys.number("high_norm", &HealthOptions::high_norm, threshold, "",
              "A norm above this for 100 steps wants to be clipped.");
  keys.number("skipped_share", &HealthOptions::skipped_share, part, "",
              "More of the last 200 steps than this were skipped.");
  keys.number("loss_factor", &HealthOptions::loss_factor, threshold, "",
              "The loss (the median of 5 steps) is above so many times its least in the last 200 steps.");
  keys.number(
      "loss_deviations", &HealthOptions::loss_deviations, threshold, "",
      "The loss is so many robust standard deviations above its median in the last 200 steps, and above 1.5 "
      "times that.");
  keys.number("least_update_ratio", &HealthOptions::least_update_ratio, threshold, "",
              "Updates change a weight matrix by less than this share of its norm in 10 looks.");
  keys.number("largest_update_ratio", &HealthOptions::largest_update_ratio, threshold, "",
              "Updates change a weight matrix by more than this share of its norm in 10 looks.");
  keys.number("dead_share", &HealthOptions::dead_share, part, "",
              "So many of the units behind a bias have had no gradient in 10 looks.");
  keys.choice("on_divergence", &HealthOptions::on_divergence,
              Words<OnDivergence>{{"stop", OnDivergence::stop}, {"rewind", OnDivergence::rewind}},
              "A run that has diverged ends with exit code 4, or returns to the newest checkpoint before the "
              "trouble and goes on with what the keys below change. To checkpoints of `checkpoint.every`, "
              "where that is set; the run ends where there is none.");
  keys.integer("rewinds", &HealthOptions::rewinds, {1, 20}, "returns",
               "At most so many, over all starts of the run.");
  keys.boolean("rewind_on_loss", &HealthOptions::rewind_on_loss,
               "A loss that jumps, as `loss_factor` and `loss_deviations` say, is a divergence too.");
  keys.number("rewind_lr_factor", &HealthOptions::rewind_lr_factor, {0.1, true, 1, true}, "",
              "Behind a return `optimizer.lr` and `schedule.final_lr` are multiplied by this.");
  keys.number(
      "rewind_scale_factor", &HealthOptions::rewind_scale_factor, {1e-6, true, 1, true}, "",
      "Behind a return from gradients that were not finite the loss scale begins with so much of what "
      "it was there, but not below `precision.scaler.min_scale`.");
  keys.boolean("rewind_float", &HealthOptions::rewind_float,
               "A layer that computes in fp16 and was the first that was not finite computes in fp32 behind "
               "the return, in place of a smaller learning rate.");
  keys.only_with({"ignore", "least_update_ratio", "largest_update_ratio", "dead_share"},
                 with_more_than_0("health.every"));
  keys.only_with({"high_norm"}, {"gradients that nothing clips (optimizer.clip_norm = 0)",
                                 {"optimizer.clip_norm"},
                                 [](const Options& options) { return options.optimizer.clip_norm == 0; }});
  keys.only_with({"on_divergence"}, of_value("\"rewind\"", with_checkpoints()));
  keys.only_with({"rewinds", "rewind_on_loss", "rewind_lr_factor", "rewind_scale_factor", "rewind_float"},
                 with("health.on_divergence", {"rewind"}));
  keys.only_with({"rewinds", "rewind_on_loss", "rewind_lr_factor", "rewind_scale_factor", "rewind_float"},
                 with_checkpoints());
  keys.only_with({"rewind_scale_factor"}, with_loss_scale());
  keys.only_with({"rewind_float"}, with_half());
}

}  // namespace mylos

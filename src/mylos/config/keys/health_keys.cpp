// [health]: the quantities that a run monitors, and the thresholds of its warnings.
#include "mylos/config/schema/keys.hpp"
#include "mylos/config/schema/limits.hpp"
#include "mylos/config/schema/sections.hpp"

namespace mylos {
namespace {

/// Returns the condition that a run writes checkpoints, to which it can rewind, before its end.
Condition with_checkpoints() {
  return {"checkpoints to rewind to (checkpoint.every, every_minutes or keep_best)",
          {"checkpoint.every"},
          [](const Options& options) {
            const CheckpointOptions& checkpoint = options.checkpoint;
            return checkpoint.every > 0 || checkpoint.every_minutes > 0 || !checkpoint.keep_best.empty();
          }};
}

}  // namespace

void add_health_keys(Schema& schema) {
  Keys keys(
      schema, "health",
      "The quantities that a run monitors, and the thresholds of its warnings "
      "(`docs/explanation/health.md`).",
      [](auto& options) -> auto& { return options.health; });
  constexpr NumberRange threshold{0, true, 1e30, true};
  constexpr NumberRange part{0, true, 1, true};
  keys.integer(
      "every", &HealthOptions::every, {0, max_count}, "steps",
      "Interval between checks of the gradient, weights and update of every parameter, for `health.csv` and "
      "for warnings that name a layer. 0: never; the results of steps are monitored in any case.");
  keys.add("ignore", &HealthOptions::ignore,
           list_type(text_type(is_path, "name"),
                     {.text = "list of names of layers or parameters, or of patterns with '*'",
                      .max = max_patterns}),
           "Layers or parameters without warnings: `ignore = [\"embedding\", \"*/bias\"]`.");
  keys.number("vanishing_norm", &HealthOptions::vanishing_norm, threshold, "",
              "Warns of vanishing gradients: the norm is below this for 5 steps, or that of a parameter in 3 "
              "checks. 0: no warning, here and for the keys below.");
  keys.number("exploding_norm", &HealthOptions::exploding_norm, threshold, "",
              "Warns of exploding gradients: the norm before clipping is above this in a step.");
  keys.number("high_norm", &HealthOptions::high_norm, threshold, "",
              "Advises clipping: the norm is above this for 100 steps.");
  keys.number("skipped_share", &HealthOptions::skipped_share, part, "",
              "Warns of skipped steps: more than this fraction of the last 200 steps.");
  keys.number(
      "loss_factor", &HealthOptions::loss_factor, threshold, "",
      "Warns of a loss (median of 5 steps) above this multiple of its minimum in the last 200 steps.");
  keys.number("loss_deviations", &HealthOptions::loss_deviations, threshold, "",
              "Warns of a loss that is this number of robust standard deviations above its median in the "
              "last 200 steps, and above 1.5 times the median.");
  keys.number(
      "least_update_ratio", &HealthOptions::least_update_ratio, threshold, "",
      "Warns of updates that change a weight matrix by less than this fraction of its norm in 10 checks.");
  keys.number(
      "largest_update_ratio", &HealthOptions::largest_update_ratio, threshold, "",
      "Warns of updates that change a weight matrix by more than this fraction of its norm in 10 checks.");
  keys.number("dead_share", &HealthOptions::dead_share, part, "",
              "Warns of dead units: this fraction of the units of a bias have had no gradient in 10 checks.");
  keys.choice(
      "on_divergence", &HealthOptions::on_divergence,
      Words<OnDivergence>{{"stop", OnDivergence::stop}, {"rewind", OnDivergence::rewind}},
      "stop: a run that has diverged ends with exit code 4. rewind: it rewinds to the newest checkpoint "
      "before the divergence and continues with the changes of the keys below. If `checkpoint.every` is set, "
      "only its checkpoints are used. Without such a checkpoint the run ends.");
  keys.integer("rewinds", &HealthOptions::rewinds, {1, 20}, "rewinds",
               "Maximum number of rewinds, over all starts of the run.");
  keys.boolean(
      "rewind_on_loss", &HealthOptions::rewind_on_loss,
      "Treats a jump of the loss, as defined by `loss_factor` and `loss_deviations`, as a divergence too.");
  keys.number("rewind_lr_factor", &HealthOptions::rewind_lr_factor, {0.1, true, 1, true}, "",
              "Factor of `optimizer.lr` and `schedule.final_lr` after a rewind.");
  keys.number("rewind_scale_factor", &HealthOptions::rewind_scale_factor, {1e-6, true, 1, true}, "",
              "Factor of the loss scale after a rewind from non-finite gradients, relative to its value in "
              "the checkpoint; the scale does not fall below `precision.scaler.min_scale`.");
  keys.boolean("rewind_float", &HealthOptions::rewind_float,
               "If the first layer with non-finite values computes in fp16, it computes in fp32 after the "
               "rewind, instead of a smaller learning rate.");
  keys.only_with({"ignore", "least_update_ratio", "largest_update_ratio", "dead_share"},
                 with_more_than_0("health.every"));
  keys.only_with({"high_norm"}, {"unclipped gradients (optimizer.clip_norm = 0)",
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

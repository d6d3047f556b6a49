#include "mylos/config/schema/checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/config/schema/deck_mistakes.hpp"
#include "mylos/config/schema/schema.hpp"
#include "mylos/config/schema/sections.hpp"
#include "mylos/config/schema/types/value_type.hpp"
#include "mylos/kernels/attention/fused_attention_support.hpp"

namespace mylos {
namespace {

/// Returns of what networks a measure is taken.
std::string text_of(Prediction prediction) {
  const auto losses = [&] { return alternatives(losses_of(prediction)); };
  if (prediction == Prediction::classes) return fmt::format("classes (model.loss = {})", losses());
  if (prediction == Prediction::distributions)
    return fmt::format("predicted deviations (model.loss = {})", losses());
  return "the targets of a regression";
}

class Checks : DeckMistakes {
 public:
  Checks(const Options& options, const GivenPlaces& given, const std::string& file_name)
      : DeckMistakes(given, file_name), options_(options) {}

  void length(bool is_needed) const {
    const RunOptions& run = options_.run;
    if (run.epochs > 0 && run.steps > 0) {
      fail(errors::keys_conflict, {"run.epochs", "run.steps"},
           "'run.epochs' and 'run.steps' are both given; keep the one that sets the "
           "run's length");
    }
    if (is_needed && run.epochs == 0 && run.steps == 0)
      fail(errors::missing_key, {}, "the length of the run is missing; give 'run.epochs' or 'run.steps'");
  }

  void metrics() const {
    for (const Measure measure : options_.run.metrics) {
      if (options_.model.type == ModelType::gpt)
        fail(errors::keys_conflict, {"run.metrics"},
             "'run.metrics' need labelled samples, and the type \"gpt\" learns tokens");
      if (is_measured_of(measure, options_.model.prediction())) continue;
      fail(errors::not_measured, {"run.metrics", "model.loss"},
           fmt::format("\"{}\" of 'run.metrics' is measured of {}, and 'model.loss' is \"{}\"",
                       name_of(measure), text_of(traits_of(measure).of), name_of(options_.model.loss)));
    }
    rollouts();
    if (options_.run.metrics.empty() || !options_.data.test.empty() || options_.data.validation > 0) return;
    fail(errors::missing_key, {"run.metrics"},
         "'run.metrics' are of evaluations, and nothing is evaluated; give 'data.validation' or 'data.test'");
  }

  void rollouts() const {
    const std::int64_t steps = options_.run.rollout_steps;
    if (steps == 0) return;
    const std::string metric = fmt::format("\"rollout{}\" of 'run.metrics'", steps);
    if (!options_.data.arrays.given())
      fail(errors::not_measured, {"run.metrics"},
           metric + " is of trajectories, which are read from arrays; give [data.arrays]");
    if (options_.data.test.empty())
      fail(errors::missing_key, {"run.metrics"}, metric + " is of the test data; give 'data.test'");
    if (!is_of_numbers(options_.model.prediction()))
      fail(errors::not_measured, {"run.metrics", "model.loss"},
           metric + " is measured of the targets of a regression");
  }

  void weights() const {
    const WeightOptions& weights = options_.data.weights;
    if (!weights.any()) return;
    if (weights.given() && weights.latitude)
      fail(errors::keys_conflict, {"data.weights.file", "data.weights.latitude"},
           "'data.weights.file' and 'data.weights.latitude' both weigh the points; leave one of them out");
    if (weights.given() && weights.array.empty())
      fail(errors::missing_key, {"data.weights.file"},
           "'data.weights.file' needs 'data.weights.array', the array with the weights");
    if (options_.data.augment.any())
      fail(errors::keys_conflict, {"data.weights", "data.augment"},
           "[data.weights] and [data.augment] exclude each other: the weights of moved samples would have to "
           "move with them");
  }

  void data() const {
    const bool is_gpt = options_.model.type == ModelType::gpt;
    const bool has_shapes =
        is_gpt ? options_.model.vocabulary > 0 : options_.model.inputs > 0 && options_.model.outputs > 0;
    if (!options_.data.train.empty()) return;
    if (!has_shapes && is_gpt) {
      fail(errors::missing_key, {"model.vocabulary"},
           "the number of tokens is missing; give 'data.train' or 'model.vocabulary'");
    }
    if (!has_shapes) {
      fail(errors::missing_key, {"model.inputs", "model.outputs"},
           "the size of a sample is missing; give 'data.train', or 'model.inputs' and 'model.outputs'");
    }
    if (options_.run.epochs > 0) {
      fail(errors::keys_conflict, {"run.epochs"},
           "'run.epochs' needs 'data.train'; without a data file give 'run.steps'");
    }
  }

  /// Not for checkpoints: one may come from a processor with more instruction sets.
  void kernels() const {
    if (!options_.kernels.instructions) return;
    const std::vector<Instructions> here = available_instructions();
    if (std::find(here.begin(), here.end(), *options_.kernels.instructions) != here.end()) return;
    std::string names = "\"auto\"";
    for (const Instructions each : here)
      names += fmt::format("{}\"{}\"", each == here.back() ? " and " : ", ", name_of(each));
    fail(errors::no_instructions, {"kernels.instructions"},
         fmt::format("'kernels.instructions' is \"{}\", which this processor or "
                     "this build does not support; available are {}",
                     name_of(*options_.kernels.instructions), names));
  }

  /// Refuses settings that make the sum over micro-batches depend on its division over ranks.
  void reproducible() const {
    if (!options_.run.reproducible) return;
    const auto refuse = [this](const char* key, const std::string& what) {
      fail(errors::keys_conflict, {key, "run.reproducible"},
           fmt::format("'run.reproducible' needs {}", what));
    };
    const std::int64_t batch = options_.data.batch;
    const std::int64_t micro_batch = options_.data.micro_batch;
    if (micro_batch == 0 || batch % micro_batch != 0) {
      refuse("data.micro_batch",
             fmt::format("a 'data.micro_batch' that divides 'data.batch' = {}, not {}", batch, micro_batch));
    }
    if (options_.precision.gradient == GradientType::compute)
      refuse("precision.gradient", "'precision.gradient' = \"auto\" or \"fp32\"");
    if (options_.communication.reduce_type == ReduceType::compute)
      refuse("communication.reduce_type", "'communication.reduce_type' = \"auto\" or \"fp32\"");
    if (options_.communication.backend == "nccl")
      refuse("communication.backend",
             "'communication.backend' = \"auto\" or \"mpi\": NCCL chooses its order of summation");
    if (options_.kernels.gemm == GemmChoice::measure)
      refuse("kernels.gemm", "engines that are not chosen by timing: any other 'kernels.gemm'");
    if (options_.kernels.attention_sums == AttentionSums::any_order)
      refuse("kernels.attention_sums", "'kernels.attention_sums' = \"fixed_order\"");
  }

  /// Refuses an order of attention's sums that no kernel of this network follows.
  void attention_sums() const {
    if (options_.kernels.attention_sums != AttentionSums::any_order) return;
    const ModelOptions& model = options_.model;
    const auto refuse = [this](const char* key, const std::string& what) {
      fail(errors::keys_conflict, {key, "kernels.attention_sums"},
           fmt::format("'kernels.attention_sums' = \"any_order\" has an effect only on attention that cuDNN "
                       "computes, which needs {}",
                       what));
    };
    if (model.dropout > 0) refuse("model.dropout", fmt::format("'model.dropout' = 0, not {}", model.dropout));
    const auto& rules = options_.precision.rules;
    const auto is_short = [](const PrecisionRule& rule) { return rule.type != DType::fp32; };
    if (options_.precision.compute == DType::fp32 && !options_.precision.adapt &&
        std::none_of(rules.begin(), rules.end(), is_short))
      refuse("precision.compute", "bf16 or fp16");
    const AttentionShape sample{1, model.context, model.heads, model.width / model.heads, DType::bf16};
    if (!fused_attention::may_support(sample, AttentionSums::any_order)) {
      refuse("model.context",
             fmt::format("samples of a multiple of 64 tokens, and heads of a multiple of 8 and at most 128 "
                         "values, not {} tokens and heads of {}",
                         sample.length, sample.head_width));
    }
  }

  /// Refuses a run without masters in which all weights are fp32. A run that adapts chooses `compute` itself.
  void masters() const {
    const PrecisionOptions& precision = options_.precision;
    if (precision.masters == MasterWeights::fp32 || precision.compute != DType::fp32) return;
    if (precision.adapt) return;
    const auto& rules = precision.rules;
    const auto is_short = [](const PrecisionRule& rule) { return rule.type != DType::fp32; };
    if (std::any_of(rules.begin(), rules.end(), is_short)) return;
    fail(errors::keys_conflict, {"precision.compute", "precision.masters"},
         "'precision.masters' = \"none\" with 'precision.compute' = \"fp32\" saves nothing: fp32 weights "
         "have no separate masters; set masters = \"fp32\", or compute = \"bf16\"");
  }

  void scaler() const {
    const ScalerOptions& scaler = options_.precision.scaler;
    const bool is_below = counts("precision.scaler.min_scale") && scaler.min_scale > scaler.initial_scale;
    const bool is_above = counts("precision.scaler.max_scale") && scaler.initial_scale > scaler.max_scale;
    if (is_below || is_above) {
      fail(errors::keys_conflict,
           {"precision.scaler.preset", "precision.scaler.min_scale", "precision.scaler.initial_scale",
            "precision.scaler.max_scale"},
           fmt::format(
               "'precision.scaler' needs min_scale <= initial_scale <= max_scale, not min_scale = {}, "
               "initial_scale = {}, max_scale = {}",
               shortest(scaler.min_scale), shortest(scaler.initial_scale), shortest(scaler.max_scale)));
    }
    if (scaler.backoff_window > 0) backoff_window();
  }

  void schedule() const {
    const ScheduleOptions& schedule = options_.schedule;
    needs_of_schedule();
    const bool has_own_length = schedule.steps > 0;
    const std::int64_t length = has_own_length ? schedule.steps : options_.run.steps;
    const std::string length_key = has_own_length ? "schedule.steps" : "run.steps";
    if (length > 0 && schedule.warmup > length) {
      fail(errors::keys_conflict, {"schedule.warmup", length_key.c_str()},
           fmt::format("'schedule.warmup' is {}, more than the {} of '{}'", schedule.warmup, length,
                       length_key));
    }
    if (schedule.type == ScheduleType::wsd) stable_part(length, length_key);
  }

  void rollout() const {
    const RolloutOptions& rollout = options_.rollout;
    if (!rollout.any()) return;
    if (!rollout.weights.empty() && static_cast<std::int64_t>(rollout.weights.size()) != rollout.steps) {
      fail(errors::bad_value, {"rollout.loss", "rollout.steps"},
           fmt::format("'rollout.loss' has {} weights, but 'rollout.steps' is {}; give one per step",
                       rollout.weights.size(), rollout.steps));
    }
    const Prediction prediction = options_.model.prediction();
    if (options_.model.type == ModelType::gpt || !is_of_numbers(prediction)) {
      fail(errors::keys_conflict, {"rollout.steps", "rollout.noise", "model.loss"},
           "[rollout] needs a network that computes the next state of its input: 'model.loss' = " +
               alternatives(losses_of(Prediction::numbers)));
    }
    if (prediction != Prediction::numbers) {
      fail(errors::keys_conflict, {"rollout.steps", "rollout.noise", "model.loss"},
           fmt::format("[rollout] trains on states that the network computed, and 'model.loss' = \"{}\" "
                       "computes several numbers for each of theirs; use {}",
                       name_of(options_.model.loss), alternatives(losses_of(Prediction::numbers))));
    }
    if (options_.data.augment.any()) {
      fail(errors::keys_conflict, {"rollout.steps", "rollout.noise", "data.augment"},
           "[rollout] and [data.augment] exclude each other: a sample of several steps is not moved");
    }
    if (options_.optimizer.shard == Shard::gradients && rollout.steps > 1) {
      fail(errors::keys_conflict, {"rollout.steps", "optimizer.shard"},
           "'optimizer.shard' = \"gradients\" cannot accumulate the gradients of the applications of "
           "'rollout.steps'; use \"state\"");
    }
  }

 private:
  [[nodiscard]] bool counts(const char* key) const {
    return schema().find_key(key)->unmet(options_) == nullptr;
  }

  void needs_of_schedule() const {
    const ScheduleOptions& schedule = options_.schedule;
    const auto need = [this](const char* type, const char* key) {
      fail(errors::missing_key, {"schedule.type"}, fmt::format("the schedule \"{}\" needs '{}'", type, key));
    };
    switch (schedule.type) {
      case ScheduleType::step:
        if (schedule.step_size == 0) need("step", "schedule.step_size");
        break;
      case ScheduleType::exponential:
        if (schedule.step_size == 0) need("exponential", "schedule.step_size");
        break;
      case ScheduleType::cosine_restarts:
        if (schedule.period == 0) need("cosine_restarts", "schedule.period");
        break;
      case ScheduleType::multistep:
        if (schedule.milestones.empty()) need("multistep", "schedule.milestones");
        if (schedule.milestones.front() < schedule.warmup)
          fail(errors::keys_conflict, {"schedule.warmup", "schedule.milestones"},
               fmt::format("the milestone {} of 'schedule.milestones' is within the {} updates of "
                           "'schedule.warmup'; milestones count from the start of the run",
                           schedule.milestones.front(), schedule.warmup));
        break;
      default:
        break;
    }
  }

  /// The length of a run in epochs is not yet known here (0).
  void stable_part(std::int64_t length, const std::string& length_key) const {
    const ScheduleOptions& schedule = options_.schedule;
    const auto decay = std::llround(schedule.decay_share * static_cast<double>(length));
    if (length == 0 || schedule.warmup + decay <= length) return;
    fail(errors::keys_conflict, {"schedule.warmup", "schedule.decay_share", length_key.c_str()},
         fmt::format(
             "'schedule.warmup' = {} and the {} updates of 'schedule.decay_share' = {} are more than the {} "
             "of '{}'",
             schedule.warmup, decay, shortest(schedule.decay_share), length, length_key));
  }

  /// The window replaces the hysteresis, and must be able to hold the required number of overflows.
  void backoff_window() const {
    const ScalerOptions& scaler = options_.precision.scaler;
    if (scaler.hysteresis > 1) {
      fail(errors::keys_conflict, {"precision.scaler.hysteresis", "precision.scaler.backoff_window"},
           fmt::format("'precision.scaler.hysteresis' = {} and 'precision.scaler.backoff_window' = {} both "
                       "define which overflows lower the scale; keep one of them (hysteresis = 1, or "
                       "backoff_window = 0)",
                       scaler.hysteresis, scaler.backoff_window));
    }
    if (scaler.backoff_overflows > scaler.backoff_window) {
      fail(errors::keys_conflict, {"precision.scaler.backoff_window", "precision.scaler.backoff_overflows"},
           fmt::format("'precision.scaler.backoff_overflows' is {}, more than the {} steps of "
                       "'precision.scaler.backoff_window': the scale would never back off",
                       scaler.backoff_overflows, scaler.backoff_window));
    }
  }

  const Options& options_;
};

}  // namespace

void check_options(const Options& options, const GivenPlaces& given, const std::string& file_name,
                   DeckOrigin origin) {
  const Checks checks(options, given, file_name);
  check_model(options, given, file_name);
  if (origin != DeckOrigin::checkpoint) {
    require_effect(options, given);
    checks.kernels();
    checks.attention_sums();
    checks.masters();
  }
  checks.length(origin == DeckOrigin::user);
  checks.metrics();
  checks.data();
  checks.weights();
  check_arrays(options, given, file_name);
  checks.reproducible();
  check_mesh(options, given, file_name);
  checks.scaler();
  checks.schedule();
  checks.rollout();
}

}  // namespace mylos

// [optimizer] and [schedule]: the update of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// The rule of an update; docs/reference/formulas.md has the formulas.
enum class OptimizerType { adamw, adam, lion, lamb, sgd };

/// What is known of a rule.
struct OptimizerTraits {
  std::string_view name;          // in decks
  int moments = 2;                // of each weight
  bool has_trust_ratios = false;  // scales each parameter's update by norms, which a pass of its own measures
};

/// A row for each rule, in the order of OptimizerType.
inline constexpr OptimizerTraits optimizer_traits[] = {{.name = "adamw"},
                                                       {.name = "adam"},
                                                       {.name = "lion", .moments = 1},
                                                       {.name = "lamb", .has_trust_ratios = true},
                                                       {.name = "sgd", .moments = 1}};

[[nodiscard]] constexpr const OptimizerTraits& traits_of(OptimizerType type) {
  return optimizer_traits[static_cast<std::size_t>(type)];
}

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(OptimizerType type) {
  return traits_of(type).name;
}

/// What is sharded over ranks, so that each rank stores and updates one slice: nothing, masters and moments
/// (ZeRO-1, Rajbhandari, Rasley, Ruwase, He, arXiv 1910.02054), or gradients too (ZeRO-2).
enum class Shard { none, state, gradients };

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(Shard shard) {
  return shard == Shard::none ? "none" : shard == Shard::state ? "state" : "gradients";
}

/// Options of the parameters whose names match.
struct ParameterGroup {
  std::vector<std::string> match;      // "hidden1/weight"; '*' matches any characters
  std::optional<double> lr_factor;     // multiplies the learning rate
  std::optional<double> weight_decay;  // replaces the optimizer's, also for vectors
  std::optional<bool> frozen;          // not updated

  bool operator==(const ParameterGroup&) const = default;
};

/// [optimizer]: the update of master weights.
struct OptimizerOptions {
  OptimizerType type = OptimizerType::adamw;  // the rule
  double lr = 1e-3;                           // learning rate, the peak of the schedule
  double beta1 = 0.9;                         // decay of the first moment; not of sgd
  double beta2 = 0.999;                       // decay of the second moment; of lion, of its moment
  double epsilon = 1e-8;                      // added to the root of the second moment
  double weight_decay = 0.01;               // added to the gradient by sgd and adam, decoupled in the others
  double momentum = 0.9;                    // sgd
  double clip_norm = 0;                     // global gradient norm after unscaling; 0 = off
  Shard shard = Shard::none;                // what is sharded over the ranks
  bool nesterov = false;                    // sgd
  double average = 0;                       // decay of a moving average of the masters; 0 = none
  std::vector<ParameterGroup> groups = {};  // if several match, the last one applies

  /// Returns the number of ranks over which masters and moments are sharded.
  [[nodiscard]] int shard_owners(int ranks) const { return shard == Shard::none ? 1 : ranks; }
  /// Returns whether gradients are sharded: a rank then holds complete gradients of only a few buckets at a
  /// time.
  [[nodiscard]] bool cuts_gradients(int ranks) const { return shard == Shard::gradients && ranks > 1; }
  bool operator==(const OptimizerOptions&) const = default;
};

/// The course of the learning rate; docs/reference/formulas.md has the formulas. wsd: warm-up, stable, decay.
enum class ScheduleType {
  constant,
  step,
  linear,
  cosine,
  multistep,
  exponential,
  polynomial,
  one_cycle,
  cosine_restarts,
  wsd
};

/// Kernels receive the milestones by value.
inline constexpr std::size_t max_milestones = 16;

/// A learning-rate schedule. It counts updates (steps that were not skipped). The formulas are in
/// schedule.hpp.
struct ScheduleOptions {
  ScheduleType type = ScheduleType::constant;  // the course after the warm-up
  std::int64_t warmup = 0;                     // updates of linear warm-up from 0
  std::int64_t steps = 0;                      // updates until final_lr; 0 = the run's length
  double final_lr = 0;                         // linear, polynomial, cosine, cosine_restarts, one_cycle, wsd
  std::int64_t step_size = 0;                  // step, exponential: updates between reductions
  double factor = 0.1;                         // step, multistep, exponential: lr is multiplied by this
  std::vector<std::int64_t> milestones{};      // multistep: ascending, in updates of the run
  double power = 1;                            // polynomial, wsd
  double rise_share = 0.3;                     // one_cycle: fraction of the updates in which lr rises
  double start_factor = 0.04;                  // one_cycle: initial lr as a fraction of lr
  std::int64_t period = 0;                     // cosine_restarts: updates of the first cycle
  std::int64_t growth = 1;   // cosine_restarts: length of each cycle relative to the one before
  double decay_share = 0.1;  // wsd: fraction of the updates, at the end, in which lr falls

  bool operator==(const ScheduleOptions&) const = default;
};

}  // namespace mylos

// [optimizer] and [schedule]: how weights move.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

enum class OptimizerType { sgd, adam, adamw, lion, lamb };

/// What is cut over ranks, so that each holds and updates a slice: nothing, masters and moments (ZeRO-1,
/// Rajbhandari, Rasley, Ruwase, He, arXiv 1910.02054), or gradients too (ZeRO-2).
enum class Shard { none, state, gradients };

[[nodiscard]] constexpr std::string_view name_of(Shard shard) {
  return shard == Shard::none ? "none" : shard == Shard::state ? "state" : "gradients";
}

/// What is said of parameters by their names.
struct ParameterGroup {
  std::vector<std::string> match;      // "hidden1/weight", with '*' for any characters
  std::optional<double> lr_factor;     // times the learning rate
  std::optional<double> weight_decay;  // instead of the optimizer's, of vectors too
  std::optional<bool> frozen;          // never moves

  bool operator==(const ParameterGroup&) const = default;
};

struct OptimizerOptions {
  OptimizerType type = OptimizerType::adamw;
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // added to the gradient by sgd and adam, decoupled in the others
  double momentum = 0.9;       // sgd
  double clip_norm = 0;        // global gradient norm after unscaling; 0 = off
  Shard shard = Shard::none;
  bool nesterov = false;                    // sgd
  double average = 0;                       // decay of a moving average of the masters; 0 = none
  std::vector<ParameterGroup> groups = {};  // of several that match, what the last one says

  /// Over how many of `ranks` ranks masters and moments are cut.
  [[nodiscard]] int shard_owners(int ranks) const { return shard == Shard::none ? 1 : ranks; }
  /// Whether a rank of `ranks` has all gradients of a few buckets at a time only.
  [[nodiscard]] bool cuts_gradients(int ranks) const { return shard == Shard::gradients && ranks > 1; }
  bool operator==(const OptimizerOptions&) const = default;
};

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

/// A kernel gets all of them by value.
inline constexpr std::size_t max_milestones = 16;

/// Counted in updates (steps that were not skipped). The formulas are in schedule.hpp.
struct ScheduleOptions {
  ScheduleType type = ScheduleType::constant;
  std::int64_t warmup = 0;                 // updates of linear warm-up from 0
  std::int64_t steps = 0;                  // updates until final_lr is reached; 0 = the run's length
  double final_lr = 0;                     // linear, polynomial, cosine, cosine_restarts, one_cycle, wsd
  std::int64_t step_size = 0;              // step, exponential: updates between reductions
  double factor = 0.1;                     // step, multistep, exponential: lr is multiplied by this
  std::vector<std::int64_t> milestones{};  // multistep: ascending, in updates of the run
  double power = 1;                        // polynomial, wsd
  double rise_share = 0.3;                 // one_cycle: share of the updates in which lr rises
  double start_factor = 0.04;              // one_cycle: of lr, with which it begins
  std::int64_t period = 0;                 // cosine_restarts: updates of the first cycle
  std::int64_t growth = 1;                 // cosine_restarts: of each cycle over the one before
  double decay_share = 0.1;                // wsd: share of the updates in which lr falls, the last ones

  bool operator==(const ScheduleOptions&) const = default;
};

}  // namespace mylos

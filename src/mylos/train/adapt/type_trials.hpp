// Type trials: some steps of a run's own network on its own data in several settings of types and
// recomputation, to compare their cost and their losses before the run begins.
//
// Settings are interleaved. Each round constructs a trainer of every setting, from the run's initial weights
// and first sample, and times a stretch of its steps; successive rounds reverse the order. A machine that is
// slower for a while thus slows all settings alike, and only one trainer occupies memory at a time. Losses
// are compared over the steps of the first round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/rates/gemm_rate.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/start/initial_weights.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

struct TrialSetting {
  DType compute = DType::fp32;                            // precision.compute; its rules are unchanged
  std::optional<RecomputeMode> recompute = std::nullopt;  // memory.recompute; nothing: as in the deck

  bool operator==(const TrialSetting&) const = default;
};

/// Statistics of a parameter's gradient in the last compared step, as stored, i.e. scaled by the loss scale.
struct GradientLoss {
  std::string parameter;        // "hidden1/weight"
  double zeros = 0;             // fraction of its elements
  double subnormals = 0;        // likewise
  std::int64_t non_finite = 0;  // elements
};

struct TrialResult {
  TrialSetting setting;
  std::string obstacle = {};          // why it cannot run; "": it ran
  ExitCode code = ExitCode::done;     // exit code of a run in this setting
  std::optional<ErrorId> cause = {};  // of the obstacle
  std::vector<double> step_s = {};    // mean of a stretch on the slowest rank, [round]
  std::vector<double> step_j = {};    // joules of all ranks per step, [round]; empty: not measured
  std::vector<double> losses = {};    // over all ranks, [compared step]
  std::int64_t skipped = 0;           // among the compared steps
  double late_skips = 0;              // skipped fraction of the last quarter of them
  std::vector<GradientLoss> gradients = {};
  std::int64_t micro_batch = 0;  // samples; less than the deck's if memory.on_oom shrinks it
  std::size_t rank_bytes = 0;    // total memory of a rank
  std::size_t activation_bytes = 0;
  std::string plan = {};  // "every block keeps all"
};

/// Bounds of the number of steps: some must follow the warm-up, and a trainer stores records of at most
/// 1,000.
inline constexpr std::int64_t min_trial = 4;
inline constexpr std::int64_t longest_trial = 1000;

struct TrialLimits {
  std::int64_t steps = 20;       // compared steps; min_trial to longest_trial
  std::int64_t timed_steps = 5;  // timed steps of a stretch in later rounds
  int rounds = 3;
  std::function<double()> clock = steady_seconds;
  /// Returns the joules that this rank has counted so far. The sum over ranks counts each joule once; NaN if
  /// the machine reports no energy (see RanksEnergy). If empty, energy is not measured.
  std::function<double()> joules = {};
  /// Called before each stretch with the round, from 0, and the setting.
  std::function<void(int, const TrialSetting&)> progress = {};
};

/// The components of a run's start that exist before its memory is planned. All must outlive the trials.
struct TrialSubject {
  const NetworkPlan& network;  // in the deck's types
  const RunData& data;
  const Normalizer& normalizer;
  Communicator& communicator;
  Engines engines;
  std::int64_t run_steps = 0;           // length of the learning-rate schedule
  InitialWeights* initial = nullptr;    // initial weights of the run; null: drawn at random
  std::optional<NodeShare> share = {};  // where other runs use the same nodes
};

/// Runs the trials. All ranks must call it; results are the same on each, in the order of `settings`. A
/// setting has an obstacle if it exceeds the budget, if it diverges in the compared steps, or if it is fp16
/// and the data exceed its range. Throws Error on all ranks for any failure that every run of the deck would
/// have. Later rounds start with the loss scale that the compared steps have reached. Releases all resources
/// before it returns.
[[nodiscard]] std::vector<TrialResult> run_type_trials(const TrialSubject& subject,
                                                       const std::vector<TrialSetting>& settings,
                                                       const TrialLimits& limits);

/// Returns the deck's options in that setting. If all layers are float, master weights are enabled, as a
/// deck cannot disable them then.
[[nodiscard]] Options options_of(const Options& deck, const TrialSetting& setting);

/// Returns "bf16" or "fp32, recomputing all".
[[nodiscard]] std::string describe(const TrialSetting& setting);

}  // namespace mylos

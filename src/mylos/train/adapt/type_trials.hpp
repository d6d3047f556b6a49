// Type trials: some steps of a run's own network on its own data, in one setting of the deck's types and
// recomputation after the other, to compare what they take and what they lose before the run begins.
//
// Settings take turns: each round makes a trainer of every setting, from the run's first weights and first
// sample, and times a stretch of its steps; the order is turned around from round to round. So a machine that
// is slower for a while is so for all, and only one trainer has memory at a time. The first round's steps are
// those whose losses are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/comm/group/communicator.hpp"
#include "mylos/config/options.hpp"
#include "mylos/data/files/normalizer.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/rates/product_rate.hpp"
#include "mylos/train/start/initial_weights.hpp"

namespace mylos {

struct TrialSetting {
  DType compute = DType::fp32;                            // precision.compute; its rules stay
  std::optional<RecomputeMode> recompute = std::nullopt;  // memory.recompute; nothing: the deck's

  bool operator==(const TrialSetting&) const = default;
};

/// What became of a parameter's gradient in the last of the compared steps, as it is stored, which is with
/// the loss scale.
struct GradientLoss {
  std::string parameter;        // "hidden1/weight"
  double zeros = 0;             // share of its elements
  double subnormals = 0;        // likewise
  std::int64_t non_finite = 0;  // elements
};

struct TrialResult {
  TrialSetting setting;
  std::string obstacle = {};        // why it cannot run; "": it did
  ExitCode code = ExitCode::done;   // with which a run of it would end
  std::vector<double> step_s = {};  // mean of a stretch, of the slowest rank, [round]
  std::vector<double> step_j = {};  // joules of all ranks in a step, [round]; empty: they are not counted
  std::vector<double> losses = {};  // of all ranks, [compared step]
  std::int64_t skipped = 0;         // of these steps
  double late_skips = 0;            // share of the last quarter of them
  std::vector<GradientLoss> gradients = {};
  std::int64_t micro_batch = 0;  // samples; less than the deck's where memory.on_oom shrinks it
  std::size_t rank_bytes = 0;    // everything included
  std::size_t activation_bytes = 0;
  std::string plan = {};  // "every block keeps all"
};

/// Behind the warm-up there must be something to time, and a trainer remembers so many steps.
inline constexpr std::int64_t min_trial = 4;
inline constexpr std::int64_t longest_trial = 1000;

struct TrialLimits {
  std::int64_t steps = 20;       // whose losses are compared; min_trial to longest_trial
  std::int64_t timed_steps = 5;  // of a stretch of the later rounds
  int rounds = 3;
  std::function<double()> clock = steady_seconds;
  /// Joules that this rank has counted so far, whose sum over ranks counts all of them once; NaN: the machine
  /// does not say (RanksEnergy). Without it nothing is counted.
  std::function<double()> joules = {};
  /// Told before each stretch: round from 0, and setting.
  std::function<void(int, const TrialSetting&)> progress = {};
};

/// What a run's start has found out before it plans its memory. All must outlive the trials.
struct TrialSubject {
  const Options& options;  // complete: with what the data add
  const RunData& data;
  const Normalizer& normalizer;
  Communicator& communicator;
  GemmEngine& gemm;
  std::int64_t run_steps = 0;         // for the schedule
  InitialWeights* initial = nullptr;  // with which the run begins; null: it draws them
};

/// All ranks; the same on each. Results are in the order of `settings`. A setting that does not fit the
/// budget has an obstacle, and so has one that diverges in the compared steps, and fp16 where the data are
/// too large for it; throws Error on all ranks for what any run of the deck would end with. Later rounds
/// begin with the loss scale that the compared steps have found. Nothing is left behind.
[[nodiscard]] std::vector<TrialResult> run_type_trials(const TrialSubject& subject,
                                                       const std::vector<TrialSetting>& settings,
                                                       const TrialLimits& limits);

/// The deck's options in that setting: with masters where all is float, which without them no deck may ask
/// for.
[[nodiscard]] Options options_of(const Options& deck, const TrialSetting& setting);

/// "bf16", "fp32, recomputing all"
[[nodiscard]] std::string describe(const TrialSetting& setting);

}  // namespace mylos

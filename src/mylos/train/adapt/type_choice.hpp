// Type choice: selects a setting from the results of the trials. The choice is the fastest setting whose
// loss stays close to float's, provided that it saves enough of float's time.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/train/adapt/type_trials.hpp"

namespace mylos {

struct TypeChoiceRule {
  double loss_gap = 0.02;   // largest accepted loss_gap()
  double least_gain = 0.1;  // fraction of float's time that 16 bits must save
};

struct TypeChoice {
  std::size_t chosen = 0;  // index of the result
  std::string reason;      // "bf16 saves 34.1 % of float's time", without a full stop
};

/// Returns the seconds per step, the median over rounds. `result` must have run.
[[nodiscard]] double step_seconds(const TrialResult& result);
/// Returns the mean loss of the second half of the compared steps. The first steps are alike in all types.
[[nodiscard]] double late_loss(const TrialResult& result);
/// Returns the excess of the late loss over that of `base`, as a fraction of it; infinity if it is not
/// finite.
[[nodiscard]] double loss_gap(const TrialResult& base, const TrialResult& result);
/// Returns the index of the fastest float setting that ran; results.size() if there is none.
[[nodiscard]] std::size_t float_base(const std::vector<TrialResult>& results);

/// Returns the choice, which is the same on all ranks, as they have the same results. Excludes a 16-bit type
/// if its loss is not finite or if more than half of its last steps were skipped. If float did not run or
/// was not tried, chooses the fastest of the others. Throws Error with the first obstacle and its code if no
/// setting is left.
[[nodiscard]] TypeChoice choose_type(const std::vector<TrialResult>& results, const TypeChoiceRule& rule);

/// Returns "bf16 saves 34.1 % of float's time"; for a negative gain "a step takes 16 % more time in bf16
/// than in float". `would`: the type is not chosen.
[[nodiscard]] std::string describe_gain(const std::string& name, double gain, bool would);

/// Returns "fp32 12.3 ms, bf16 8.1 ms a step, losses 2.301, 2.303 (+0.09 %); fp16 does not run".
[[nodiscard]] std::string describe(const std::vector<TrialResult>& results);

/// The additional elements of a parameter's gradient that are zero or subnormal in a 16-bit setting but not
/// in float.
struct LostGradient {
  std::string parameter;
  double zeros = 0;             // fraction of its elements, minus float's
  double subnormals = 0;        // likewise
  std::int64_t non_finite = 0;  // elements
};

/// Returns the losses of all parameters in descending order.
[[nodiscard]] std::vector<LostGradient> lost_gradients(const TrialResult& base, const TrialResult& result);
/// Returns "; of gradients fp16 loses most in hidden1/weight: 3.1 % fall to zero"; "" if nothing is lost.
[[nodiscard]] std::string describe_lost_gradients(const std::vector<TrialResult>& results);

}  // namespace mylos

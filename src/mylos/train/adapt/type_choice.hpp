// Type choice: which of the settings that were tried a run is to take: the fastest of those whose loss stays
// close to that of float, if it saves enough of float's time to be worth it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/train/adapt/type_trials.hpp"

namespace mylos {

struct TypeChoiceRule {
  double loss_gap = 0.02;   // as of loss_gap(): the most that is accepted
  double least_gain = 0.1;  // share of float's time that 16 bits must save
};

struct TypeChoice {
  std::size_t chosen = 0;  // index of the result
  std::string reason;      // "bf16 saves 34.1 % of float's time", without a full stop
};

/// Seconds of a step: the median over rounds. Of a setting that ran.
[[nodiscard]] double step_seconds(const TrialResult& result);
/// Mean loss of the second half of the compared steps, as the first ones are alike in all types.
[[nodiscard]] double late_loss(const TrialResult& result);
/// By how much that is above the one of `base`, as a share of it; infinite where it is not a number.
[[nodiscard]] double loss_gap(const TrialResult& base, const TrialResult& result);
/// The fastest setting in float that ran; results.size(): none did.
[[nodiscard]] std::size_t float_base(const std::vector<TrialResult>& results);

/// The same on all ranks, which have the same results. A 16-bit type more than half of whose last steps were
/// skipped, or whose loss is no number, is not taken. Where float does not run, or was not tried, it is the
/// fastest of the others. Throws Error with the first obstacle and its code where none is left.
[[nodiscard]] TypeChoice choose_type(const std::vector<TrialResult>& results, const TypeChoiceRule& rule);

/// "bf16 saves 34.1 % of float's time"; of a negative gain "a step takes 16 % more time in bf16 than in
/// float". `would`: of a type that is not taken.
[[nodiscard]] std::string describe_gain(const std::string& name, double gain, bool would);

/// "fp32 12.3 ms, bf16 8.1 ms a step, losses 2.301, 2.303 (+0.09 %); fp16 does not run".
[[nodiscard]] std::string describe(const std::vector<TrialResult>& results);

/// By how much more a parameter's gradient fell to zero in a 16-bit setting than in float.
struct LostGradient {
  std::string parameter;
  double zeros = 0;             // share of its elements, beyond float's
  double subnormals = 0;        // likewise
  std::int64_t non_finite = 0;  // elements
};

/// Of every parameter, those that lost most first.
[[nodiscard]] std::vector<LostGradient> lost_gradients(const TrialResult& base, const TrialResult& result);
/// "; of gradients fp16 loses most in hidden1/weight: 3.1 % fall to zero"; "" where nothing is lost.
[[nodiscard]] std::string describe_lost_gradients(const std::vector<TrialResult>& results);

}  // namespace mylos

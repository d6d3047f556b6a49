// Rollouts: networks are applied to their own outputs, step after step, and compared with the truth, with
// persistence, which predicts that nothing changes, and with a climatology.
//
// A member is one start of the data. Each network predicts each member `copies` times, from starts that
// `noise` makes differ, or with a dropout mask for each copy, the same at all steps. With more than one of
// these forecasts the member's state is their mean.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/rollout/divided_rollouts.hpp"
#include "mylos/inference/rollout/field_errors.hpp"
#include "mylos/inference/rollout/spectrum.hpp"
#include "mylos/inference/rollout/start_noise.hpp"
#include "mylos/inference/rollout/trajectories.hpp"
#include "mylos/inference/scores/step_spectrum.hpp"
#include "mylos/inference/scores/variable_scores.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"

namespace mylos {

/// One step of one member. Numbers that are not known are NaN.
struct MemberStep {
  FieldErrors network = {};
  FieldErrors persistence = {};
  double energy = 0;        // of the state; not finite if the state is not
  double energy_drift = 0;  // energy / that of the beginning - 1
  double truth_energy = 0;
  std::int64_t compared = 0;  // 1 if the truth has a value; of means, the members of which it has
};

struct RolloutResult {
  std::int64_t steps = 0;
  std::int64_t members = 0;
  std::vector<MemberStep> all;         // [members, steps], steps from 1
  std::vector<StepSpectrum> spectrum;  // of steps 0 ... steps; of rank 0, where it was asked for
  StepScores scores = {};              // of each variable; likewise

  [[nodiscard]] const MemberStep& at(std::int64_t member, std::int64_t step) const {
    return all[static_cast<std::size_t>(member * steps + step - 1)];
  }
  /// Returns the first step, from 1, whose state is not finite; 0 if all are finite.
  [[nodiscard]] std::int64_t first_not_finite(std::int64_t member) const;
  /// Returns the means over the members after this step. Members without truth are left out of what needs it,
  /// and those whose truth lacks a variable of its energy.
  [[nodiscard]] MemberStep mean(std::int64_t step) const;
  /// Returns the number of steps that have a truth, which may end before the rollout.
  [[nodiscard]] std::int64_t compared_steps() const;
  /// Returns the mean over these steps of mean(step).network.nrmse: the metric of `rolloutN`. NaN if a step
  /// has no such number.
  [[nodiscard]] double mean_nrmse() const;
};

struct RolloutRequest {
  std::int64_t steps = 1;
  std::int64_t members_at_once = 1;  // of a rank
  std::int64_t networks = 1;
  std::int64_t copies = 1;  // forecasts of each network for a member
  bool has_spectrum = false;
  bool has_spectra = false;     // of each channel; otherwise their sum
  bool has_scores = false;      // measures each variable
  MeasureWeights weights = {};  // in the measures
  /// Whose intervals are measured with has_scores, of lead times 1 ... steps and of one forecast; null: none.
  const ConformalCalibration* intervals = nullptr;
  bool drops = false;                 // forecast i drops by mask i, which depends on the member's number
  const StartNoise* noise = nullptr;  // null: forecasts begin with the levels of the data
  /// Returns the climatology [points, outputs] at the time of a member's truth after a step; for has_scores.
  /// Null: none is known.
  std::function<std::span<const float>(std::int64_t member, std::int64_t step)> climatology = {};
  /// Rank 0 receives the states [forecasts, points, outputs] of a member after `step` (0: what it begins
  /// with), in any order of members, and in the order of steps for each. The forecasts of a network follow
  /// each other.
  std::function<void(std::int64_t member, std::int64_t step, std::span<const float> states)> take = {};
  /// Each rank receives the scores of each variable of its members after each step that has a truth.
  std::function<void(std::int64_t step, std::span<const VariableScores> scores)> take_scores = {};
  const DividedRollouts* divided = nullptr;  // where ranks share states; null: each has whole ones

  [[nodiscard]] std::int64_t forecasts() const { return networks * copies; }
};

/// All ranks; each makes the rollouts of its part of the members, or of its box of them. Returns the same
/// numbers on every rank, but for the spectrum and the scores. Throws Error on all ranks if one fails.
/// `networks`: as many as the request says, of the same inputs and outputs.
[[nodiscard]] RolloutResult roll_out(std::span<RowInference* const> networks, RankGroup& ranks,
                                     const Trajectories& data, const RolloutRequest& request);

/// Returns the bytes of host memory that roll_out() takes on each of `ranks` ranks at most.
[[nodiscard]] std::size_t rollout_bytes(const LevelLayout& layout, const RolloutRequest& request,
                                        std::int64_t members, int ranks = 1);

}  // namespace mylos

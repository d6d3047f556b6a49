// Rollouts: a network is applied to its own outputs, step after step, and compared with the truth and with
// persistence, which predicts that nothing changes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/rollout/field_errors.hpp"
#include "mylos/inference/rollout/spectrum.hpp"
#include "mylos/inference/rollout/trajectories.hpp"

namespace mylos {

/// One step of one member. Numbers that are not known are NaN.
struct MemberStep {
  FieldErrors network = {};
  FieldErrors persistence = {};
  double energy = 0;        // of the state; not finite if the state is not
  double energy_drift = 0;  // energy / that of the beginning - 1
  double truth_energy = 0;
};

/// Energies by wavenumber after one step, means over the members.
struct StepSpectrum {
  std::vector<double> network;
  std::vector<double> truth;  // empty if it is not known for every member
  std::vector<double> error;  // of network - truth; likewise
};

struct RolloutResult {
  std::int64_t steps = 0;
  std::int64_t members = 0;
  std::vector<MemberStep> all;         // [members, steps], steps from 1
  std::vector<StepSpectrum> spectrum;  // of steps 0 ... steps; of rank 0, where it was asked for

  [[nodiscard]] const MemberStep& at(std::int64_t member, std::int64_t step) const {
    return all[static_cast<std::size_t>(member * steps + step - 1)];
  }
  /// Returns the first step, from 1, whose state is not finite; 0 if all are finite.
  [[nodiscard]] std::int64_t first_not_finite(std::int64_t member) const;
  /// Returns the means over the members after this step. Members without truth are left out of what needs it.
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
  bool has_spectrum = false;
  std::span<const float> weights = {};  // of points or numbers, in the measures; empty: all are 1
  /// Rank 0 receives the state [points, outputs] of a member after `step` (0: what it begins with), in any
  /// order of members, and in the order of steps for each.
  std::function<void(std::int64_t member, std::int64_t step, std::span<const float> state)> take = {};
};

/// All ranks; each makes the rollouts of its part of the members. Returns the same numbers on every rank, but
/// for the spectrum. Throws Error on all ranks if one fails.
[[nodiscard]] RolloutResult roll_out(RowInference& network, RankGroup& ranks, const Trajectories& data,
                                     const RolloutRequest& request);

/// Returns the bytes of host memory that roll_out() takes on a rank.
[[nodiscard]] std::size_t rollout_bytes(const LevelLayout& layout, const RolloutRequest& request,
                                        std::int64_t members);

}  // namespace mylos

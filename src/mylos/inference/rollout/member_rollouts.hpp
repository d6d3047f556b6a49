// MemberRollouts: the rollouts of a rank, a few members at a time, and what is measured of them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/inference/ensemble/pass_numbers.hpp"
#include "mylos/inference/rollout/rollout.hpp"
#include "mylos/inference/rollout/rollout_windows.hpp"

namespace mylos {

class MemberRollouts {
 public:
  MemberRollouts(std::span<RowInference* const> networks, const Trajectories& data,
                 const RolloutRequest& request);

  void start(std::int64_t first, std::int64_t count);
  void advance(std::int64_t step);
  /// Measures a member, counted from the first, after a step. Of the variables see scores().
  [[nodiscard]] MemberStep measure(std::int64_t member, std::int64_t step);
  /// Reads the truth of a step, 0 included; returns whether there is any.
  bool read_truth(std::int64_t member, std::int64_t step);

  /// The states [forecasts, points, outputs] of a member, and their mean.
  [[nodiscard]] std::span<float> states(std::int64_t member);
  [[nodiscard]] std::span<const float> mean(std::int64_t member);
  [[nodiscard]] std::span<const float> truth() const { return truth_; }
  /// Of each variable, of the last measure() that had a truth.
  [[nodiscard]] std::span<const VariableScores> scores() const { return scores_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  [[nodiscard]] static std::size_t memory_bytes(const LevelLayout& layout, const RolloutRequest& request);

 private:
  /// Measures a field against the truth as the prediction of each variable. `reference`: its values may be
  /// missing too.
  FieldErrors measure(std::span<const float> predicted, ChannelErrors VariableScores::*to,
                      std::span<const float> reference = {});
  void measure_intervals(std::int64_t step);
  /// Returns the weights in the measures without numbers that are missing (NaN) in one of the fields. They
  /// are valid until the next call.
  [[nodiscard]] MeasureWeights known_weights(std::span<const float> field, std::span<const float> other = {});
  [[nodiscard]] double known_energy(std::span<const float> field) const {
    return field_energy(field, data_.layout().outputs(), request_.weights, data_.layout().has_missing);
  }
  /// Lets the window of a forecast begin with what its network reads as 0 where a state is missing: it
  /// predicts the change since then.
  void fill_missing(std::int64_t forecast, std::int64_t member);
  [[nodiscard]] std::span<float> of(std::vector<float>& fields, std::int64_t member) const {
    return std::span(fields).subspan(static_cast<std::size_t>(member) * values_, values_);
  }

  std::vector<RowInference*> networks_;
  const Trajectories& data_;
  const RolloutRequest& request_;
  std::size_t values_;  // of a state
  std::int64_t forecasts_;
  RolloutWindows windows_;
  PassNumbers masks_;  // of each forecast, where they drop
  std::vector<float> outputs_;
  std::vector<float> states_;  // [members, forecasts, values]
  std::vector<float> starts_;
  std::vector<double> start_energies_;
  std::vector<float> truth_;
  std::span<const float> climatology_ = {};  // of the truth; empty: none is known
  std::vector<float> mean_;                  // of an ensemble
  std::vector<float> weights_;               // of known numbers
  std::vector<ChannelErrors> errors_;        // of each channel
  std::vector<VariableScores> scores_;       // likewise
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace mylos

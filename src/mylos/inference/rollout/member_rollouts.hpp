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
  /// `measures`: whether this rank measures whole states; of divided ones only place() sets them.
  MemberRollouts(std::span<RowInference* const> networks, const Trajectories& data,
                 const RolloutRequest& request, bool measures = true);

  void start(std::int64_t first, std::int64_t count);
  void advance(std::int64_t step);
  /// Returns what this rank has computed of a member: the fields [forecasts, points of its box, outputs], and
  /// after start() that without noise.
  [[nodiscard]] std::span<float> computed(std::int64_t member);
  /// Returns as much of `memory` as computed() of another rank has of any member, if states are divided.
  [[nodiscard]] std::span<float> room_in(std::vector<float>& memory, int rank) const {
    return std::span(memory).first(computed_fields() * values_of_box(rank));
  }
  /// Returns the states among what computed() of a rank returns.
  [[nodiscard]] std::span<const float> states_in(std::span<const float> fields) const {
    return fields.first(fields.size() / computed_fields() * static_cast<std::size_t>(forecasts_));
  }
  /// Takes this from a rank that shares the states of this one. After start() all are to be taken before
  /// begin().
  void place(int rank, std::int64_t member, std::span<const float> fields);
  /// Begins to measure what the rollouts start with.
  void begin();

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
  /// What this rank computes of a state, and of the start.
  [[nodiscard]] std::span<float> computed_state(std::int64_t member, std::int64_t forecast);
  [[nodiscard]] std::span<float> computed_start(std::int64_t member);
  /// The numbers of what a rank computes of a state.
  [[nodiscard]] std::size_t values_of_box(int rank) const {
    return static_cast<std::size_t>(request_.divided->points_of(rank) * data_.layout().outputs());
  }
  [[nodiscard]] std::size_t computed_fields() const {
    return static_cast<std::size_t>(forecasts_ + (has_started_ ? 1 : 0));
  }

  std::vector<RowInference*> networks_;
  const Trajectories& data_;
  const Trajectories& computed_data_;  // of the box that this rank computes
  const RolloutRequest& request_;
  std::size_t values_;           // of a state
  std::size_t computed_values_;  // of what this rank computes of it
  std::int64_t forecasts_;
  RolloutWindows windows_;
  PassNumbers masks_;  // of each forecast, where they drop
  std::vector<float> outputs_;
  std::vector<float> boxes_;   // of divided states [members, forecasts and the start, computed values]
  std::vector<float> states_;  // [members, forecasts, values]
  std::vector<float> starts_;
  std::vector<double> start_energies_;
  std::vector<float> truth_;
  std::span<const float> climatology_ = {};  // of the truth; empty: none is known
  std::vector<float> mean_;                  // of an ensemble
  std::vector<float> weights_;               // of known numbers
  std::vector<ChannelErrors> errors_;        // of each channel
  std::vector<VariableScores> scores_;       // likewise
  bool has_started_ = false;                 // and made no step
  std::int64_t first_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace mylos

#include "mylos/inference/rollout/member_rollouts.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/inference/scores/ensemble_scores.hpp"

namespace mylos {

MemberRollouts::MemberRollouts(std::span<RowInference* const> networks, const Trajectories& data,
                               const RolloutRequest& request, bool measures)
    : networks_(networks.begin(), networks.end()),
      data_(data),
      computed_data_(request.divided != nullptr ? request.divided->box() : data),
      request_(request),
      values_(static_cast<std::size_t>(data.layout().state_values())),
      computed_values_(static_cast<std::size_t>(computed_data_.layout().state_values())),
      forecasts_(request.forecasts()),
      windows_(computed_data_.layout(), request.members_at_once, forecasts_),
      masks_(request.drops ? pass_numbers(request.forecasts()) : PassNumbers()),
      outputs_(static_cast<std::size_t>(request.members_at_once * forecasts_) * computed_values_),
      boxes_(request.divided != nullptr
                 ? static_cast<std::size_t>(request.members_at_once * (forecasts_ + 1)) * computed_values_
                 : 0),
      states_(measures ? static_cast<std::size_t>(request.members_at_once * forecasts_) * values_ : 0),
      starts_(measures ? static_cast<std::size_t>(request.members_at_once) * values_ : 0),
      start_energies_(static_cast<std::size_t>(request.members_at_once)),
      truth_(measures ? values_ : 0),
      mean_(measures && forecasts_ > 1 ? values_ : 0),
      weights_(measures ? values_ : 0),
      errors_(static_cast<std::size_t>(data.layout().outputs())),
      scores_(errors_.size()) {}

std::size_t MemberRollouts::memory_bytes(const LevelLayout& layout, const RolloutRequest& request) {
  const auto values = static_cast<std::size_t>(layout.state_values());
  const auto members = static_cast<std::size_t>(request.members_at_once);
  const auto forecasts = static_cast<std::size_t>(request.forecasts());
  // A box, with that of the start, takes no more than a whole state.
  const std::size_t of_boxes = request.divided != nullptr ? (forecasts + 1) * members : 0;
  const std::size_t fields = (2 * forecasts + 1) * members + of_boxes + 2 + (forecasts > 1 ? 1 : 0);
  return RolloutWindows::memory_bytes(layout, request.members_at_once, request.forecasts()) +
         fields * values * sizeof(float) + members * sizeof(double) +
         static_cast<std::size_t>(layout.outputs()) * (sizeof(ChannelErrors) + sizeof(VariableScores));
}

void MemberRollouts::start(std::int64_t first, std::int64_t count) {
  first_ = first;
  count_ = count;
  has_started_ = true;
  windows_.start(computed_data_, first, count);
  for (std::int64_t member = 0; member < count; ++member) {
    windows_.state(0, member, {}, computed_start(member));
    for (std::int64_t forecast = 0; forecast < forecasts_; ++forecast) {
      if (request_.noise != nullptr) {
        windows_.change_states(forecast, member, [&](std::size_t column, float& value) {
          if (request_.divided != nullptr)
            column = request_.divided->column_of_whole(column, data_.layout().inputs());
          value += static_cast<float>(request_.noise->at(first + member, forecast, column));
        });
      }
      windows_.state(forecast, member, {}, computed_state(member, forecast));
      if (!data_.layout().adds_newest.empty() && data_.layout().has_missing) fill_missing(forecast, member);
    }
  }
}

void MemberRollouts::begin() {
  for (std::int64_t member = 0; member < count_; ++member)
    start_energies_[static_cast<std::size_t>(member)] = known_energy(of(starts_, member));
}

std::span<float> MemberRollouts::computed_state(std::int64_t member, std::int64_t forecast) {
  if (request_.divided == nullptr) return of(states_, member * forecasts_ + forecast);
  const auto field = static_cast<std::size_t>(member * (forecasts_ + 1) + forecast);
  return std::span(boxes_).subspan(field * computed_values_, computed_values_);
}

std::span<float> MemberRollouts::computed_start(std::int64_t member) {
  return request_.divided == nullptr ? of(starts_, member) : computed_state(member, forecasts_);
}

std::span<float> MemberRollouts::computed(std::int64_t member) {
  return std::span(boxes_).subspan(static_cast<std::size_t>(member * (forecasts_ + 1)) * computed_values_,
                                   computed_fields() * computed_values_);
}

void MemberRollouts::place(int rank, std::int64_t member, std::span<const float> fields) {
  const std::int64_t channels = data_.layout().outputs();
  const std::span<const float> of_states = states_in(fields);
  request_.divided->place(rank, of_states, states(member), channels);
  if (has_started_)
    request_.divided->place(rank, fields.subspan(of_states.size()), of(starts_, member), channels);
}

void MemberRollouts::advance(std::int64_t step) {
  has_started_ = false;
  if (count_ == 0) return;
  const std::size_t parts = request_.drops ? static_cast<std::size_t>(forecasts_) : networks_.size();
  const LevelLayout& layout = data_.layout();
  const std::int64_t rows_of_member = layout.points_are_samples ? layout.points() : 1;
  const std::span<const float> inputs = windows_.inputs();
  const auto outputs =
      std::span(outputs_).first(static_cast<std::size_t>(count_ * forecasts_) * computed_values_);
  for (std::size_t i = 0; i < parts; ++i) {
    DropoutMask mask;
    if (request_.drops) mask = {masks_.data() + i, static_cast<std::uint64_t>(first_ * rows_of_member)};
    networks_[i * networks_.size() / parts]->run(
        inputs.subspan(i * (inputs.size() / parts), inputs.size() / parts),
        outputs.subspan(i * (outputs.size() / parts), outputs.size() / parts), mask);
  }
  windows_.advance(computed_data_, step, outputs, step == request_.steps);
  for (std::int64_t member = 0; member < count_; ++member) {
    for (std::int64_t forecast = 0; forecast < forecasts_; ++forecast)
      windows_.state(forecast, member, outputs, computed_state(member, forecast));
  }
}

void MemberRollouts::fill_missing(std::int64_t forecast, std::int64_t member) {
  const RowInference& network = *networks_[static_cast<std::size_t>(forecast / request_.copies)];
  windows_.change_states(forecast, member, [&](std::size_t column, float& value) {
    if (std::isnan(value)) value = network.read_as_zero(column);
  });
}

MeasureWeights MemberRollouts::known_weights(std::span<const float> field, std::span<const float> other) {
  const auto is_missing = [](float value) { return std::isnan(value); };
  if (!data_.layout().has_missing ||
      (std::ranges::none_of(field, is_missing) && std::ranges::none_of(other, is_missing)))
    return request_.weights;
  const std::size_t channels = errors_.size();
  for (std::size_t i = 0; i < values_; ++i) {
    const bool is_known = !is_missing(field[i]) && (other.empty() || !is_missing(other[i]));
    weights_[i] = is_known ? static_cast<float>(request_.weights.at(i / channels, i % channels)) : 0.0f;
  }
  return MeasureWeights(weights_, data_.layout().outputs());
}

FieldErrors MemberRollouts::measure(std::span<const float> predicted, ChannelErrors VariableScores::*to,
                                    std::span<const float> reference) {
  const MeasureWeights weights = known_weights(truth_, reference);
  for (std::size_t channel = 0; channel < errors_.size(); ++channel) {
    errors_[channel] = channel_errors(predicted, truth_, {channel, errors_.size(), weights}, climatology_);
    scores_[channel].*to = errors_[channel];
  }
  return field_errors(errors_);
}

void MemberRollouts::measure_intervals(std::int64_t step) {
  const ConformalCalibration intervals = request_.intervals->at_lead_time(step);
  for (std::size_t channel = 0; channel < scores_.size(); ++channel) {
    scores_[channel].interval = {};
    if (scores_[channel].starts == 0) continue;
    const double half = intervals.half_width(channel, 0);
    const double error = scores_[channel].network.max_absolute;  // NaN of a state that is not finite
    scores_[channel].interval = {error <= half ? 1.0 : 0.0, 2 * half};
  }
}

MemberStep MemberRollouts::measure(std::int64_t member, std::int64_t step) {
  constexpr double unknown = ChannelErrors::unknown;
  constexpr FieldErrors no_errors{unknown, unknown, unknown};
  const std::int64_t channels = data_.layout().outputs();
  const std::span<const float> state = mean(member);
  const double energy = field_energy(state, channels, request_.weights);
  const double drift = energy / start_energies_[static_cast<std::size_t>(member)] - 1;
  MemberStep found{no_errors, no_errors, energy, drift, unknown, 0};
  if (!read_truth(member, step)) return found;
  if (request_.climatology) climatology_ = request_.climatology(first_ + member, step);
  found.network = measure(state, &VariableScores::network);
  const std::span<const float> start = of(starts_, member);
  found.persistence = measure(start, &VariableScores::persistence, start);
  found.truth_energy = known_energy(truth_);
  const MeasureWeights weights = known_weights(truth_);
  for (std::size_t channel = 0; channel < scores_.size(); ++channel) {
    bool has_any = false;
    ChannelPoints{channel, scores_.size(), weights}.for_each(values_,
                                                             [&](std::size_t, double) { has_any = true; });
    scores_[channel].starts = has_any ? 1 : 0;
    if (has_any) found.compared = 1;
  }
  if (!request_.has_scores) return found;
  if (!climatology_.empty())
    static_cast<void>(measure(climatology_, &VariableScores::climatology, climatology_));
  if (request_.intervals != nullptr) measure_intervals(step);
  if (forecasts_ == 1) return found;
  const MeasureWeights of_truth = known_weights(truth_);  // the climatology's are in their place
  for (std::size_t channel = 0; channel < scores_.size(); ++channel)
    scores_[channel].ensemble = ensemble_scores(states(member), truth_, {channel, scores_.size(), of_truth});
  return found;
}

bool MemberRollouts::read_truth(std::int64_t member, std::int64_t step) {
  if (step == 0) {
    std::ranges::copy(of(starts_, member), truth_.begin());
    return true;
  }
  if (!data_.has_truth(first_ + member, step)) return false;
  data_.read_truth(first_ + member, step, truth_);
  return true;
}

std::span<float> MemberRollouts::states(std::int64_t member) {
  const std::size_t size = static_cast<std::size_t>(forecasts_) * values_;
  return std::span(states_).subspan(static_cast<std::size_t>(member) * size, size);
}

std::span<const float> MemberRollouts::mean(std::int64_t member) {
  if (forecasts_ == 1) return states(member);
  mean_of_members(states(member), mean_);
  return mean_;
}

}  // namespace mylos

#include "mylos/inference/rollout/field_errors.hpp"

#include <cmath>
#include <vector>

#include "mylos/inference/scores/known_mean.hpp"

namespace mylos {

FieldErrors field_errors(std::span<const ChannelErrors> channels) {
  constexpr double nothing = ChannelErrors::unknown;
  double error = 0;
  double square = 0;
  KnownMean nrmse;
  KnownMean correlation;
  for (const ChannelErrors& channel : channels) {
    if (std::isnan(channel.squared_error)) return {nothing, nothing, nothing};  // a value is not finite
    error += channel.squared_error;
    square += channel.squared_truth;
    if (channel.squared_truth > 0) nrmse.add(std::sqrt(channel.squared_error / channel.squared_truth));
    if (std::isfinite(channel.correlation)) correlation.add(channel.correlation);
  }
  return {square > 0 ? std::sqrt(error / square) : nothing, nrmse.value(), correlation.value()};
}

FieldErrors field_errors(std::span<const float> predicted, std::span<const float> truth,
                         std::int64_t channels, const MeasureWeights& weights) {
  std::vector<ChannelErrors> errors;
  const auto count = static_cast<std::size_t>(channels);
  for (std::size_t channel = 0; channel < count; ++channel)
    errors.push_back(channel_errors(predicted, truth, {channel, count, weights}));
  return field_errors(errors);
}

double field_energy(std::span<const float> field, std::int64_t channels, const MeasureWeights& weights,
                    bool has_missing) {
  double sum = 0;
  double points = 0;
  const auto count = static_cast<std::size_t>(channels);
  for (std::size_t channel = 0; channel < count; ++channel) {
    double of_channel = 0;
    double all = 0;
    double missing = 0;
    ChannelPoints{channel, count, weights}.for_each(field.size(), [&](std::size_t i, double weight) {
      all += weight;
      if (has_missing && std::isnan(field[i])) {
        missing += weight;
        return;
      }
      of_channel += weight * static_cast<double>(field[i]) * static_cast<double>(field[i]);
    });
    sum += missing > 0 ? of_channel * (all / (all - missing)) : of_channel;
    points += all;
  }
  return sum / (points / static_cast<double>(channels));
}

}  // namespace mylos

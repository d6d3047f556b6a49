#include "mylos/inference/rollout/field_errors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mylos {
namespace {

/// The mean of the channels that have a number.
struct ChannelMean {
  double sum = 0;
  std::int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  [[nodiscard]] double value() const {
    return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
  }
};

/// Sums over the points of one channel.
struct ChannelSums {
  double error = 0;      // (p - t)^2
  double truth = 0;      // t^2
  double predicted = 0;  // p^2
  double predicted_mean = 0;
  double truth_mean = 0;

  ChannelSums(std::span<const float> predicted_values, std::span<const float> truth_values, std::size_t first,
              std::size_t step) {
    double points = 0;
    for (std::size_t i = first; i < truth_values.size(); i += step) {
      const double p = predicted_values[i];
      const double t = truth_values[i];
      error += (p - t) * (p - t);
      truth += t * t;
      predicted += p * p;
      predicted_mean += p;
      truth_mean += t;
      points += 1;
    }
    predicted_mean /= points;
    truth_mean /= points;
  }
};

/// Returns whether the values differ by no more than the rounding of float32 does: by at most one unit in the
/// last place of their root mean square. `distances`: the sum of the squared distances from their mean.
bool is_constant(double distances, double squares) {
  constexpr double rounding = std::numeric_limits<float>::epsilon();
  return distances <= rounding * rounding * squares;
}

/// Returns NaN if one of the channels is constant.
double correlation_of(std::span<const float> predicted, std::span<const float> truth, std::size_t first,
                      std::size_t step, const ChannelSums& sums) {
  double both = 0;
  double of_predicted = 0;
  double of_truth = 0;
  for (std::size_t i = first; i < truth.size(); i += step) {
    const double p = static_cast<double>(predicted[i]) - sums.predicted_mean;
    const double t = static_cast<double>(truth[i]) - sums.truth_mean;
    both += p * t;
    of_predicted += p * p;
    of_truth += t * t;
  }
  if (is_constant(of_predicted, sums.predicted) || is_constant(of_truth, sums.truth))
    return std::numeric_limits<double>::quiet_NaN();
  return both / std::sqrt(of_predicted * of_truth);
}

}  // namespace

FieldErrors field_errors(std::span<const float> predicted, std::span<const float> truth,
                         std::int64_t channels) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  if (!is_finite_field(predicted) || !is_finite_field(truth)) return {nothing, nothing, nothing};
  double error = 0;
  double square = 0;
  ChannelMean nrmse;
  ChannelMean correlation;
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t channel = 0; channel < step; ++channel) {
    const ChannelSums sums(predicted, truth, channel, step);
    error += sums.error;
    square += sums.truth;
    if (sums.truth > 0) nrmse.add(std::sqrt(sums.error / sums.truth));
    const double found = correlation_of(predicted, truth, channel, step, sums);
    if (std::isfinite(found)) correlation.add(found);
  }
  return {square > 0 ? std::sqrt(error / square) : nothing, nrmse.value(), correlation.value()};
}

double field_energy(std::span<const float> field, std::int64_t channels) {
  double sum = 0;
  for (const float value : field) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum / (static_cast<double>(field.size()) / static_cast<double>(channels));
}

bool is_finite_field(std::span<const float> field) {
  return std::all_of(field.begin(), field.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace mylos

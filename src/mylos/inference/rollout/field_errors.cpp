#include "mylos/inference/rollout/field_errors.hpp"

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

/// One channel of a field [points, channels], and the weights of its points or of all its numbers.
struct Channel {
  std::size_t first = 0;
  std::size_t step = 1;
  std::span<const float> weights = {};  // empty: all are 1

  /// Calls body(i, weight) for the elements of the points that count.
  template <class Body>
  void for_each(std::size_t size, const Body& body) const {
    for (std::size_t i = first, point = 0; i < size; i += step, ++point) {
      const double weight =
          weights.empty() ? 1.0 : static_cast<double>(weights[weights.size() == size ? i : point]);
      if (weight > 0) body(i, weight);
    }
  }
};

/// Weighted sums over the points of a channel.
struct ChannelSums {
  double error = 0;      // (p - t)^2
  double truth = 0;      // t^2
  double predicted = 0;  // p^2
  double predicted_mean = 0;
  double truth_mean = 0;

  ChannelSums(std::span<const float> predicted_values, std::span<const float> truth_values,
              const Channel& channel) {
    double points = 0;
    channel.for_each(truth_values.size(), [&](std::size_t i, double weight) {
      const double p = predicted_values[i];
      const double t = truth_values[i];
      error += weight * (p - t) * (p - t);
      truth += weight * t * t;
      predicted += weight * p * p;
      predicted_mean += weight * p;
      truth_mean += weight * t;
      points += weight;
    });
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
double correlation_of(std::span<const float> predicted, std::span<const float> truth, const Channel& channel,
                      const ChannelSums& sums) {
  double both = 0;
  double of_predicted = 0;
  double of_truth = 0;
  channel.for_each(truth.size(), [&](std::size_t i, double weight) {
    const double p = static_cast<double>(predicted[i]) - sums.predicted_mean;
    const double t = static_cast<double>(truth[i]) - sums.truth_mean;
    both += weight * p * t;
    of_predicted += weight * p * p;
    of_truth += weight * t * t;
  });
  if (is_constant(of_predicted, sums.predicted) || is_constant(of_truth, sums.truth))
    return std::numeric_limits<double>::quiet_NaN();
  return both / std::sqrt(of_predicted * of_truth);
}

}  // namespace

FieldErrors field_errors(std::span<const float> predicted, std::span<const float> truth,
                         std::int64_t channels, std::span<const float> weights) {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  double error = 0;
  double square = 0;
  ChannelMean nrmse;
  ChannelMean correlation;
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t first = 0; first < step; ++first) {
    const Channel channel{first, step, weights};
    const ChannelSums sums(predicted, truth, channel);
    if (!std::isfinite(sums.predicted) || !std::isfinite(sums.truth)) return {nothing, nothing, nothing};
    error += sums.error;
    square += sums.truth;
    if (sums.truth > 0) nrmse.add(std::sqrt(sums.error / sums.truth));
    const double found = correlation_of(predicted, truth, channel, sums);
    if (std::isfinite(found)) correlation.add(found);
  }
  return {square > 0 ? std::sqrt(error / square) : nothing, nrmse.value(), correlation.value()};
}

double field_energy(std::span<const float> field, std::int64_t channels, std::span<const float> weights) {
  double sum = 0;
  double points = 0;
  const auto step = static_cast<std::size_t>(channels);
  for (std::size_t first = 0; first < step; ++first) {
    Channel{first, step, weights}.for_each(field.size(), [&](std::size_t i, double weight) {
      sum += weight * static_cast<double>(field[i]) * static_cast<double>(field[i]);
      points += weight;
    });
  }
  return sum / (points / static_cast<double>(channels));
}

}  // namespace mylos

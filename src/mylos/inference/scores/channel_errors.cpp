#include "mylos/inference/scores/channel_errors.hpp"

#include <algorithm>
#include <cmath>

namespace mylos {
namespace {

/// Weighted sums over the points of a channel.
struct ChannelSums {
  double weight = 0;
  double error = 0;      // (p - t)^2
  double truth = 0;      // t^2
  double predicted = 0;  // p^2
  double absolute = 0;   // |p - t|
  double largest = 0;    // |p - t|, without weight
  double difference = 0;
  double predicted_mean = 0;
  double truth_mean = 0;

  ChannelSums(std::span<const float> predicted_values, std::span<const float> truth_values,
              const ChannelPoints& points) {
    points.for_each(truth_values.size(), [&](std::size_t i, double of_point) {
      const double p = predicted_values[i];
      const double t = truth_values[i];
      error += of_point * (p - t) * (p - t);
      truth += of_point * t * t;
      predicted += of_point * p * p;
      absolute += of_point * std::abs(p - t);
      largest = std::max(largest, std::abs(p - t));
      difference += of_point * (p - t);
      predicted_mean += of_point * p;
      truth_mean += of_point * t;
      weight += of_point;
    });
    predicted_mean /= weight;
    truth_mean /= weight;
  }
};

/// Returns whether the values differ by no more than the rounding of float32 does: by at most one unit in the
/// last place of their root mean square. `distances`: the sum of the squared distances from their mean.
bool is_constant(double distances, double squares) {
  constexpr double rounding = std::numeric_limits<float>::epsilon();
  return distances <= rounding * rounding * squares;
}

/// Returns NaN if one of the channels is constant.
double correlation_of(std::span<const float> predicted, std::span<const float> truth,
                      const ChannelPoints& points, const ChannelSums& sums) {
  double both = 0;
  double of_predicted = 0;
  double of_truth = 0;
  points.for_each(truth.size(), [&](std::size_t i, double weight) {
    const double p = static_cast<double>(predicted[i]) - sums.predicted_mean;
    const double t = static_cast<double>(truth[i]) - sums.truth_mean;
    both += weight * p * t;
    of_predicted += weight * p * p;
    of_truth += weight * t * t;
  });
  if (is_constant(of_predicted, sums.predicted) || is_constant(of_truth, sums.truth))
    return ChannelErrors::unknown;
  return both / std::sqrt(of_predicted * of_truth);
}

double anomaly_correlation_of(std::span<const float> predicted, std::span<const float> truth,
                              std::span<const float> climatology, const ChannelPoints& points) {
  double both = 0;
  double of_predicted = 0;
  double of_truth = 0;
  points.for_each(truth.size(), [&](std::size_t i, double weight) {
    const double a = static_cast<double>(predicted[i]) - static_cast<double>(climatology[i]);
    const double b = static_cast<double>(truth[i]) - static_cast<double>(climatology[i]);
    if (std::isnan(climatology[i])) return;
    both += weight * a * b;
    of_predicted += weight * a * a;
    of_truth += weight * b * b;
  });
  return both / std::sqrt(of_predicted * of_truth);
}

}  // namespace

ChannelErrors channel_errors(std::span<const float> predicted, std::span<const float> truth,
                             const ChannelPoints& points, std::span<const float> climatology) {
  const ChannelSums sums(predicted, truth, points);
  if (!std::isfinite(sums.predicted) || !std::isfinite(sums.truth)) return {};
  ChannelErrors errors{.squared_error = sums.error,
                       .squared_truth = sums.truth,
                       .mean_square = sums.error / sums.weight,
                       .mean_absolute = sums.absolute / sums.weight,
                       .max_absolute = sums.largest,
                       .bias = sums.difference / sums.weight,
                       .relative_l2 = std::sqrt(sums.error / sums.truth),
                       .correlation = correlation_of(predicted, truth, points, sums)};
  if (sums.truth == 0) errors.relative_l2 = ChannelErrors::unknown;
  if (!climatology.empty())
    errors.anomaly_correlation = anomaly_correlation_of(predicted, truth, climatology, points);
  return errors;
}

}  // namespace mylos

#include "mylos/inference/scores/ensemble_scores.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace mylos {

EnsembleScores ensemble_scores(std::span<const float> states, std::span<const float> truth,
                               const ChannelPoints& points) {
  const std::size_t values = truth.size();
  const std::size_t members = states.size() / values;
  const auto count = static_cast<double>(members);
  std::vector<double> sorted(members);  // the members at a point
  bool is_finite = true;
  double total = 0;
  double variance = 0;
  double crps = 0;
  points.for_each(values, [&](std::size_t i, double weight) {
    const double y = truth[i];
    double sum = 0;
    double distance = 0;
    for (std::size_t member = 0; member < members; ++member) {
      sorted[member] = states[member * values + i];
      sum += sorted[member];
      distance += std::abs(sorted[member] - y);
    }
    if (!std::isfinite(sum) || !std::isfinite(y)) {
      is_finite = false;
      return;
    }
    std::ranges::sort(sorted);
    double squares = 0;
    double between = 0;  // sum of |x_i - x_j| over the pairs: x_k is above k others, below the rest
    for (std::size_t k = 0; k < members; ++k) {
      squares += (sorted[k] - sum / count) * (sorted[k] - sum / count);
      between += (2 * static_cast<double>(k) - count + 1) * sorted[k];
    }
    total += weight;
    variance += weight * squares / (count - 1);
    crps += weight * (distance / count - between / (count * (count - 1)));
  });
  if (!is_finite) return {};
  return {(count + 1) / count * variance / total, crps / total};
}

void mean_of_members(std::span<const float> states, std::span<float> mean) {
  const std::size_t members = states.size() / mean.size();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (std::size_t member = 0; member < members; ++member) sum += states[member * mean.size() + i];
    mean[i] = static_cast<float>(sum / static_cast<double>(members));
  }
}

}  // namespace mylos

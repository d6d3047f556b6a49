#include "mylos/inference/ensemble/member_sums.hpp"

#include <algorithm>
#include <cmath>

namespace mylos {

void MemberSums::start(std::size_t numbers, bool has_variances) {
  mean_.assign(numbers, 0);
  squares_.assign(numbers, 0);
  variance_.assign(has_variances ? numbers : 0, 0);
}

void MemberSums::add(std::int64_t member, std::size_t first, std::span<const float> values,
                     std::span<const float> deviations) {
  const double count = static_cast<double>(member) + 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    double& mean = mean_[first + i];
    const double difference = value - mean;
    mean += difference / count;
    squares_[first + i] += difference * (value - mean);
  }
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    const double deviation = deviations[i];
    variance_[first + i] += deviation * deviation;
  }
}

void MemberSums::mean(std::size_t first, std::span<float> to) const {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(mean_[first + i]);
}

void MemberSums::deviation(std::int64_t members, std::size_t first, std::span<float> to) const {
  const auto count = static_cast<double>(members);
  const bool is_mixture = !variance_.empty();
  const double divisor = is_mixture ? count : std::max(count - 1, 1.0);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double own = is_mixture ? variance_[first + i] / count : 0;
    to[i] = static_cast<float>(std::sqrt(own + squares_[first + i] / divisor));
  }
}

}  // namespace mylos

#include "mylos/inference/ensemble/member_sums.hpp"

#include "mylos/inference/ensemble/member_moments.hpp"

namespace mylos {

void MemberSums::start(std::size_t numbers, bool has_variances) {
  mean_.assign(numbers, 0);
  squares_.assign(numbers, 0);
  variance_.assign(has_variances ? numbers : 0, 0);
}

void MemberSums::add(std::int64_t member, std::size_t first, std::span<const float> values,
                     std::span<const float> deviations) {
  const double count = static_cast<double>(member) + 1;
  for (std::size_t i = 0; i < values.size(); ++i)
    add_member_value(static_cast<double>(values[i]), count, mean_[first + i], squares_[first + i]);
  for (std::size_t i = 0; i < deviations.size(); ++i)
    add_member_variance(static_cast<double>(deviations[i]), variance_[first + i]);
}

void MemberSums::mean(std::size_t first, std::span<float> to) const {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(mean_[first + i]);
}

void MemberSums::deviation(std::int64_t members, std::size_t first, std::span<float> to) const {
  const auto count = static_cast<double>(members);
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double squares = squares_[first + i];
    to[i] =
        static_cast<float>(variance_.empty() ? deviation_of_members(squares, count)
                                             : deviation_of_mixture(squares, variance_[first + i], count));
  }
}

}  // namespace mylos

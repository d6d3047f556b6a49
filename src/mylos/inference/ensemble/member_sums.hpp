// MemberSums: mean and standard deviation over the members of an ensemble, number by number.
// By the formulas of member_moments.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mylos {

class MemberSums {
 public:
  /// Begins with no members. `numbers`: of each.
  void start(std::size_t numbers, bool has_variances);
  /// Adds the numbers from `first` on of member `member`. Each is to be added once for every member, the
  /// members in their order. `deviations`: the roots of their variances; none unless start() announced them.
  void add(std::int64_t member, std::size_t first, std::span<const float> values,
           std::span<const float> deviations = {});
  /// Return the results for the numbers from `first` on; `members` have been added. The standard deviation of
  /// one member without a variance is 0.
  void mean(std::size_t first, std::span<float> to) const;
  void deviation(std::int64_t members, std::size_t first, std::span<float> to) const;

  /// Returns the bytes for each number.
  [[nodiscard]] static constexpr std::size_t bytes_of_number(bool has_variances) {
    return (has_variances ? 3 : 2) * sizeof(double);
  }

 private:
  std::vector<double> mean_;
  std::vector<double> squares_;   // sum of (x_i - m)^2
  std::vector<double> variance_;  // sum of v_i; empty: there are none
};

}  // namespace mylos

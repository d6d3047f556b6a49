// A normalisation over a set of elements that share their statistics, in double.
#pragma once

#include <cmath>
#include <vector>

namespace mylos::test {

struct NormReference {
  explicit NormReference(const std::vector<double>& x, double epsilon) {
    const auto count = static_cast<double>(x.size());
    for (const double value : x) mean += value / count;
    for (const double value : x) variance += (value - mean) * (value - mean) / count;
    rstd = 1 / std::sqrt(variance + epsilon);
    for (const double value : x) {
      normalized.push_back((value - mean) * rstd);
      size += std::abs(value) * rstd / count;
    }
  }
  double mean = 0;
  double variance = 0;
  double rstd = 0;
  double size = 0;  ///< mean of |x|, in deviations
  std::vector<double> normalized;
};

}  // namespace mylos::test

// Weighted sums over the points of fields [points, channels], set to those of another field or to 0: the same
// number is added to all points of a channel,
//
//   y[p, c] += (sum of w[q] s[q, from(c)] over q - sum of w[q] y[q, c]) / (sum of w[q]),
//
// without s: its sum is 0. Differences and sums are in double, and each number is rounded once.
#pragma once

#include <Kokkos_Macros.hpp>
#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// Channels of y whose sums are set, and those of s that have the sums, by value for kernels.
struct SumChannels {
  static constexpr std::int64_t max_listed = 32;

  std::int64_t count = 0;
  bool are_listed = false;  // false: the first `count` channels of both
  std::int32_t channel[max_listed] = {};
  std::int32_t from[max_listed] = {};

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t channel_of(std::int64_t k) const {
    return are_listed ? channel[k] : k;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t from_of(std::int64_t k) const {
    return are_listed ? from[k] : k;
  }
};

struct PointSums {
  std::int64_t points = 1;
  std::int64_t channels = 1;       // of y
  std::int64_t from_channels = 0;  // of s
  std::int64_t row_points = 1;     // consecutive points that have a weight in common
  const float* weights = nullptr;  // [points / row_points] at least 0, in device memory; null: all are 1
  double inverse_total = 1;        // 1 / (sum of the weights of all points)
  SumChannels of = {};             // each channel of y at most once
};

/// Sets the sums of y [samples, points * channels]. `s` [samples, points * from_channels], of y's type;
/// empty: the sums are 0.
void set_point_sums(const Execution& exec, const PointSums& sums, const ConstTensor& s, const Tensor& y);

/// Writes the gradient of s, or adds it, from that of y.
void point_sums_backward_s(const Execution& exec, const PointSums& sums, const ConstTensor& dy,
                           const Tensor& ds, bool adds);
/// Turns the gradient of the new y into that of the old one.
void point_sums_backward_y(const Execution& exec, const PointSums& sums, const Tensor& dy);

}  // namespace mylos

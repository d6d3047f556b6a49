// Sums that norms and biases need, on hosts by vectors, several at a time.
#pragma once

#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch.hpp"

namespace mylos {

/// What a norm's backward pass sums over a row, with n = (x - mean) * rstd.
struct GradientSums {
  float gradient;    // of dy * weight
  float normalized;  // of dy * weight * n
};

namespace host_row {

// For all types of elements. Their order of additions depends on the number of columns and the instruction
// set only.
template <class T>
float sum(const T* x, std::int64_t columns);
template <class T>
float sum_of_squares(const T* x, float mean, std::int64_t columns);
template <class T, class W>
GradientSums gradient_sums(const T* x, const T* dy, const W* weight, float mean, float rstd,
                           std::int64_t columns);

/// sums[i] += x[row, i] for `rows` rows that are `stride` elements apart, in their order.
template <class T>
void add_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums);

}  // namespace host_row

template <class T>
KOKKOS_FORCEINLINE_FUNCTION float sum(const Row& row, const T* x, std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::sum(x, columns);
  } else {
    return row.sum(columns, [=](std::int64_t c) { return to_float(x[c]); });
  }
}

/// Of (x - mean)^2.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION float sum_of_squares(const Row& row, const T* x, float mean,
                                                 std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::sum_of_squares(x, mean, columns);
  } else {
    return row.sum(columns, [=](std::int64_t c) {
      const float deviation = to_float(x[c]) - mean;
      return deviation * deviation;
    });
  }
}

/// GradientSums::normalized alone.
template <class T, class W>
KOKKOS_FORCEINLINE_FUNCTION float sum_of_normalized(const Row& row, const T* x, const T* dy, const W* weight,
                                                    float mean, float rstd, std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::gradient_sums(x, dy, weight, mean, rstd, columns).normalized;
  } else {
    return row.sum(columns, [=](std::int64_t c) {
      return to_float(dy[c]) * to_float(weight[c]) * ((to_float(x[c]) - mean) * rstd);
    });
  }
}

template <class T, class W>
KOKKOS_FORCEINLINE_FUNCTION GradientSums gradient_sums(const Row& row, const T* x, const T* dy,
                                                       const W* weight, float mean, float rstd,
                                                       std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::gradient_sums(x, dy, weight, mean, rstd, columns);
  } else {
    const float gradient =
        row.sum(columns, [=](std::int64_t c) { return to_float(dy[c]) * to_float(weight[c]); });
    return {gradient, sum_of_normalized(row, x, dy, weight, mean, rstd, columns)};
  }
}

}  // namespace mylos

// Sums for norms and biases. On hosts they use several vectors at a time; on devices the tiles of a Row or of
// lanes (LanesRow).
#pragma once

#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

/// The sums of a norm's backward pass over a row, with n = (x - mean) * rstd.
struct GradientSums {
  float gradient = 0;    // of dy * weight
  float normalized = 0;  // of dy * weight * n

  KOKKOS_FUNCTION GradientSums& operator+=(const GradientSums& other) {
    gradient += other.gradient;
    normalized += other.normalized;
    return *this;
  }
};

namespace host_row {

// Defined for all element types. The order of the additions depends only on the number of columns and on the
// instruction set.
template <class T>
float sum(const T* x, std::int64_t columns);
template <class T>
float sum_of_squares(const T* x, float mean, std::int64_t columns);
template <class T, class W>
GradientSums gradient_sums(const T* x, const T* dy, const W* weight, float mean, float rstd,
                           std::int64_t columns);

/// Adds sums[i] += x[row, i] for `rows` rows in their order; `stride` is the distance of rows in elements.
template <class T>
void add_rows(const T* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float* sums);

}  // namespace host_row

namespace device_row {

/// Returns the sum of term(first_column, count) over the row's tiles.
template <class AnyRow, class Term>
KOKKOS_FORCEINLINE_FUNCTION auto sum_tiles(const AnyRow& row, std::int64_t columns, const Term& term) {
  return row.sum(launch::ceiling_quotient(columns, tile_width), [=](std::int64_t tile) {
    const std::int64_t first = tile * tile_width;
    return term(first, launch::smaller(tile_width, columns - first));
  });
}

template <class AnyRow, class T, class W>
KOKKOS_FORCEINLINE_FUNCTION GradientSums gradient_sums(const AnyRow& row, const T* x, const T* dy,
                                                       const W* weight, float mean, float rstd,
                                                       std::int64_t columns) {
  return sum_tiles(row, columns, [=](std::int64_t first, std::int64_t count) {
    float buffers[3][tile_width];
    const auto element = tile_values(x + first, count, buffers[0]);
    const auto gradient = tile_values(dy + first, count, buffers[1]);
    const auto factor = tile_values(weight + first, count, buffers[2]);
    GradientSums sums;
    for_each_in_tile(count, [&](std::int64_t i) {
      const float g = gradient[i] * factor[i];
      sums.gradient += g;
      sums.normalized += g * ((element[i] - mean) * rstd);
    });
    return sums;
  });
}

}  // namespace device_row

template <class AnyRow, class T>
KOKKOS_FORCEINLINE_FUNCTION float sum(const AnyRow& row, const T* x, std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::sum(x, columns);
  } else {
    return device_row::sum_tiles(row, columns, [=](std::int64_t first, std::int64_t count) {
      float buffer[tile_width];
      const auto element = tile_values(x + first, count, buffer);
      float total = 0;
      for_each_in_tile(count, [&](std::int64_t i) { total += element[i]; });
      return total;
    });
  }
}

/// Returns the sum of (x - mean)^2.
template <class AnyRow, class T>
KOKKOS_FORCEINLINE_FUNCTION float sum_of_squares(const AnyRow& row, const T* x, float mean,
                                                 std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::sum_of_squares(x, mean, columns);
  } else {
    return device_row::sum_tiles(row, columns, [=](std::int64_t first, std::int64_t count) {
      float buffer[tile_width];
      const auto element = tile_values(x + first, count, buffer);
      float total = 0;
      for_each_in_tile(count, [&](std::int64_t i) {
        const float deviation = element[i] - mean;
        total += deviation * deviation;
      });
      return total;
    });
  }
}

template <class AnyRow, class T, class W>
KOKKOS_FORCEINLINE_FUNCTION GradientSums gradient_sums(const AnyRow& row, const T* x, const T* dy,
                                                       const W* weight, float mean, float rstd,
                                                       std::int64_t columns) {
  if constexpr (runs_on_host) {
    return host_row::gradient_sums(x, dy, weight, mean, rstd, columns);
  } else {
    return device_row::gradient_sums(row, x, dy, weight, mean, rstd, columns);
  }
}

/// Returns GradientSums::normalized alone.
template <class AnyRow, class T, class W>
KOKKOS_FORCEINLINE_FUNCTION float sum_of_normalized(const AnyRow& row, const T* x, const T* dy,
                                                    const W* weight, float mean, float rstd,
                                                    std::int64_t columns) {
  return gradient_sums(row, x, dy, weight, mean, rstd, columns).normalized;
}

}  // namespace mylos

/// Lets Kokkos reduce them within a row.
template <>
struct Kokkos::reduction_identity<mylos::GradientSums> {
  KOKKOS_FUNCTION static mylos::GradientSums sum() { return {}; }
};

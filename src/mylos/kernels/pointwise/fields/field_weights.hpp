// FieldWeights: the weights of the numbers of a field [points, channels] in sums over them.
#pragma once

#include <Kokkos_Macros.hpp>
#include <cstdint>

namespace mylos {

/// In device memory. The weight of a number is the product of that of its point and its own. Where one is 0
/// the number does not enter a sum, whatever it is.
struct FieldWeights {
  const float* of_points = nullptr;   // [points]; null: all are 1
  const float* of_numbers = nullptr;  // [points, channels]; null: all are 1
  bool skips_missing = false;         // a target that is NaN is missing: its weight is 0

  KOKKOS_FORCEINLINE_FUNCTION float point(std::int64_t point) const {
    return of_points == nullptr ? 1.0f : of_points[point];
  }
  KOKKOS_FORCEINLINE_FUNCTION float number(std::int64_t number) const {
    return of_numbers == nullptr ? 1.0f : of_numbers[number];
  }
  /// Returns whether the target, or the derivative of targets, does not count whatever the weights are.
  KOKKOS_FORCEINLINE_FUNCTION bool is_missing(float target) const {
    return skips_missing && target != target;
  }
  KOKKOS_FORCEINLINE_FUNCTION float number(std::int64_t number, float target) const {
    return is_missing(target) ? 0.0f : this->number(number);
  }
};

/// Returns weight * value, 0 for a weight of 0 even if the value is inf or NaN.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION T weighted(float weight, T value) {
  return weight == 0.0f ? T(0) : static_cast<T>(weight) * value;
}

}  // namespace mylos

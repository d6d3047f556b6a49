// ParameterHealth: sums over a parameter's gradient and weights, computed by the pass that updates them.
// Those of the last observed steps are in a HealthRing.
#pragma once

#include <cstdint>

#include "mylos/base/kokkos_names.hpp"

namespace mylos {

/// Sums of a parameter, or of a part of it. Gradients are those of the mean loss, before clipping. Values
/// that are not finite are counted and excluded from the sums.
struct ParameterHealth {
  double gradient_squares = 0;  // 0 if all gradients are below 1e-23
  double weight_squares = 0;    // after the update
  double change_squares = 0;    // by the update; 0 if the step was skipped
  float largest_gradient = 0;   // magnitude
  float largest_weight = 0;     // magnitude
  // Counts of the gradients as stored, that is, multiplied by the loss scale.
  std::int64_t zeros = 0;
  std::int64_t subnormals = 0;
  std::int64_t non_finite = 0;
  std::int64_t count = 0;

  KOKKOS_INLINE_FUNCTION ParameterHealth& operator+=(const ParameterHealth& other) {
    gradient_squares += other.gradient_squares;
    weight_squares += other.weight_squares;
    change_squares += other.change_squares;
    largest_gradient = Kokkos::fmax(largest_gradient, other.largest_gradient);
    largest_weight = Kokkos::fmax(largest_weight, other.largest_weight);
    zeros += other.zeros;
    subnormals += other.subnormals;
    non_finite += other.non_finite;
    count += other.count;
    return *this;
  }
};

}  // namespace mylos

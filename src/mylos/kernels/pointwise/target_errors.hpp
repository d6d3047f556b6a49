// The errors of single numbers: for a prediction p and its target t the loss, and its derivative with respect
// to p.
#pragma once

#include <Kokkos_Macros.hpp>

#include "mylos/kernels/launch/math.hpp"

namespace mylos {

struct SquaredError {
  KOKKOS_FORCEINLINE_FUNCTION static float value(float p, float t) { return (p - t) * (p - t); }
  KOKKOS_FORCEINLINE_FUNCTION static float slope(float p, float t) { return 2.0f * (p - t); }
};

struct AbsoluteError {
  KOKKOS_FORCEINLINE_FUNCTION static float value(float p, float t) { return math::absolute(p - t); }
  KOKKOS_FORCEINLINE_FUNCTION static float slope(float p, float t) {
    const float error = p - t;
    return error > 0 ? 1.0f : error < 0 ? -1.0f : error;  // NaN stays NaN
  }
};

struct HuberLoss {
  float delta;

  KOKKOS_FORCEINLINE_FUNCTION float value(float p, float t) const {
    const float size = math::absolute(p - t);
    return size <= delta ? 0.5f * size * size : delta * (size - 0.5f * delta);
  }
  KOKKOS_FORCEINLINE_FUNCTION float slope(float p, float t) const {
    const float error = p - t;
    return error > delta ? delta : error < -delta ? -delta : error;
  }
};

}  // namespace mylos

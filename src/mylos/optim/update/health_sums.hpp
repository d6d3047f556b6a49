// The sums for ParameterHealth that a row of work computes during its pass over the elements.
#pragma once

#include <Kokkos_Core.hpp>

#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/optim/update/parameter_health.hpp"

namespace mylos {

/// The values of one element.
struct ElementHealth {
  float gradient = 0;  // as stored
  float before = 0;    // weight
  float after = 0;
};

template <class T>
inline constexpr float min_normal_of = 1.17549435e-38f;  // 2^-126: of float and bfloat16
template <>
inline constexpr float min_normal_of<half> = 6.103515625e-05f;  // 2^-14

/// The scale of gradients.
struct HealthScale {
  float unit = 1;        // multiplies a stored gradient: the result is that of the mean loss
  float min_normal = 0;  // smallest normal number of the gradients' type
};

/// Sums of `Width` elements at a time, each in a separate lane: one vector on the host.
template <int Width>
struct HealthLanes {
  float gradient_squares[Width] = {};
  float weight_squares[Width] = {};
  float change_squares[Width] = {};
  float largest_gradient[Width] = {};
  float largest_weight[Width] = {};
  std::int32_t zeros[Width] = {};
  std::int32_t subnormals[Width] = {};
  std::int32_t non_finite[Width] = {};

  KOKKOS_FORCEINLINE_FUNCTION void add(std::int64_t lane, const ElementHealth& element,
                                       const HealthScale& scale) {
    const float stored = math::absolute(element.gradient);
    const bool finite = stored <= Kokkos::Experimental::finite_max_v<float>;
    const float gradient = finite ? stored * scale.unit : 0.0f;
    const float weight = math::absolute(element.after);
    const float change = element.after - element.before;
    gradient_squares[lane] += gradient * gradient;
    weight_squares[lane] += weight * weight;
    change_squares[lane] += change * change;
    largest_gradient[lane] = gradient > largest_gradient[lane] ? gradient : largest_gradient[lane];
    largest_weight[lane] = weight > largest_weight[lane] ? weight : largest_weight[lane];
    zeros[lane] += stored == 0.0f ? 1 : 0;
    subnormals[lane] += stored > 0.0f && stored < scale.min_normal ? 1 : 0;
    non_finite[lane] += finite ? 0 : 1;
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION ParameterHealth sum(std::int64_t count) const {
    ParameterHealth total;
    for (int lane = 0; lane < Width; ++lane) {
      total.gradient_squares += static_cast<double>(gradient_squares[lane]);
      total.weight_squares += static_cast<double>(weight_squares[lane]);
      total.change_squares += static_cast<double>(change_squares[lane]);
      total.largest_gradient = Kokkos::fmax(total.largest_gradient, largest_gradient[lane]);
      total.largest_weight = Kokkos::fmax(total.largest_weight, largest_weight[lane]);
      total.zeros += zeros[lane];
      total.subnormals += subnormals[lane];
      total.non_finite += non_finite[lane];
    }
    total.count = count;
    return total;
  }
};

/// Returns the sums of element(i) for i in [0, count). element(i) may have side effects.
template <class Element>
KOKKOS_FORCEINLINE_FUNCTION ParameterHealth sum_health(const Row& row, std::int64_t count,
                                                       const HealthScale& scale, const Element& element) {
  if constexpr (runs_on_host) {
    constexpr std::int64_t width = 16;
    HealthLanes<width> lanes;
    const std::int64_t whole = count / width * width;
    for (std::int64_t first = 0; first < whole; first += width) {
      simd_for(0, width, [&](std::int64_t lane) { lanes.add(lane, element(first + lane), scale); });
    }
    simd_for(0, count - whole, [&](std::int64_t lane) { lanes.add(lane, element(whole + lane), scale); });
    return lanes.sum(count);
  } else {
    return row.sum(count, [&](std::int64_t i) {
      HealthLanes<1> lane;
      lane.add(0, element(i), scale);
      return lane.sum(1);
    });
  }
}

/// Returns the sum over the blocks of one parameter, in their order.
template <class AnyRow>
KOKKOS_INLINE_FUNCTION ParameterHealth sum_blocks(const AnyRow& row, std::int64_t count,
                                                  const ParameterHealth* blocks) {
  if constexpr (runs_on_host) {
    ParameterHealth total;
    for (std::int64_t i = 0; i < count; ++i) total += blocks[i];
    return total;
  } else {
    return row.sum(count, [&](std::int64_t i) { return blocks[i]; });
  }
}

}  // namespace mylos

template <>
struct Kokkos::reduction_identity<mylos::ParameterHealth> {
  KOKKOS_FORCEINLINE_FUNCTION static mylos::ParameterHealth sum() { return {}; }
};

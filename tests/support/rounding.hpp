// What rounding may add up to, whatever the processor and the order of a sum (Higham, "Accuracy and stability
// of numerical algorithms", 2002, 2.2 and 3.1). u is the unit roundoff of float unless a type says otherwise.
#pragma once

#include <algorithm>
#include <cmath>

#include "mylos/base/dispatch.hpp"

namespace mylos::test {

inline constexpr double u = unit_roundoff<float>;

inline double unit_roundoff_of(DType type) {
  return dispatch(type, []<class T>(TypeTag<T>) { return unit_roundoff<T>; });
}

/// The largest error of rounding `value` to the type: relative above its smallest normal value, absolute
/// below.
inline double rounding_error(DType type, double value) {
  const double smallest_normal = type == DType::fp16 ? 0x1p-14 : 0x1p-126;
  return unit_roundoff_of(type) * std::max(std::abs(value), smallest_normal);
}

/// The largest error of a float sum of `terms` in any order; each of them is itself the result of `each`
/// roundings. `magnitude`: the sum of their absolute values.
inline double summing_error(double terms, double magnitude, double each = 1) {
  return (terms + each) * u * magnitude;
}

}  // namespace mylos::test

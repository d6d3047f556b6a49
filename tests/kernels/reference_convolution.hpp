// A convolution by its definition: seven loops in double, and the magnitudes that bound rounding errors.
#pragma once

#include <cmath>
#include <cstdlib>
#include <vector>

#include "mylos/kernels/convolution/convolution_shape.hpp"

namespace mylos::test {

/// Sums in double, each with its number of terms and the sum of their absolute values.
struct Sums {
  explicit Sums(std::int64_t count)
      : value(static_cast<std::size_t>(count)),
        magnitude(static_cast<std::size_t>(count)),
        terms(static_cast<std::size_t>(count)) {}
  void add(std::int64_t at, double term) {
    const auto i = static_cast<std::size_t>(at);
    value[i] += term;
    magnitude[i] += std::abs(term);
    terms[i] += 1;
  }

  std::vector<double> value;
  std::vector<double> magnitude;
  std::vector<double> terms;
};

/// Returns the point of an axis that point `at` of the padded axis stands for, or -1.
inline std::int64_t point_of_axis(std::int64_t at, std::int64_t extent, PaddingKind kind) {
  if (kind == PaddingKind::periodic) return (at % extent + extent) % extent;
  if (kind == PaddingKind::reflect && at < 0) return -at;
  if (kind == PaddingKind::reflect && at >= extent) return extent - 1 - (at - (extent - 1));
  if (kind == PaddingKind::pole && at < 0) return -at - 1;
  if (kind == PaddingKind::pole && at >= extent) return extent - 1 - (at - extent);
  return at < 0 || at >= extent ? -1 : at;
}

/// Returns the index of the point of the grid that a point of the padded grid stands for, or -1.
inline std::int64_t point_of_grid(Extents at, const GridShape& grid, const PaddingKinds& kinds) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (kinds[axis] != PaddingKind::pole || (at[axis] >= 0 && at[axis] < grid.extent[axis])) continue;
    for (std::size_t other = 0; other < 3; ++other)  // the opposite meridian
      if (kinds[other] == PaddingKind::periodic) at[other] += grid.extent[other] / 2;
  }
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t point = point_of_axis(at[axis], grid.extent[axis], kinds[axis]);
    if (point < 0) return -1;
    index = index * grid.extent[axis] + point;
  }
  return index;
}

/// Calls function(x, weight, y) with the indices of every product of the convolution: y[y] += W[weight] x[x].
template <class Function>
void for_each_product(const ConvolutionShape& shape, std::int64_t samples, const Function& function) {
  const GridShape output = output_grid(shape);
  const GridShape& from = shape.transposed ? output : shape.input;  // of the convolution or its adjoint
  const GridShape& to = shape.transposed ? shape.input : output;
  const std::int64_t group_from = from.channels / shape.groups;
  const std::int64_t group_to = to.channels / shape.groups;
  const auto at = [&](std::size_t axis, std::int64_t o, std::int64_t t) {
    return o * shape.stride[axis] - shape.padding[axis] + t * shape.dilation[axis];
  };
  for (std::int64_t row = 0; row < samples * to.points(); ++row) {
    const std::int64_t sample = row / to.points();
    const std::int64_t od = row / (to.extent[1] * to.extent[2]) % to.extent[0];
    const std::int64_t oh = row / to.extent[2] % to.extent[1];
    const std::int64_t ow = row % to.extent[2];
    for (std::int64_t td = 0; td < shape.kernel[0]; ++td) {
      for (std::int64_t th = 0; th < shape.kernel[1]; ++th) {
        for (std::int64_t tw = 0; tw < shape.kernel[2]; ++tw) {
          const std::int64_t point =
              point_of_grid({at(0, od, td), at(1, oh, th), at(2, ow, tw)}, from, shape.padding_kind);
          if (point < 0) continue;
          const std::int64_t seen = sample * from.points() + point;
          const std::int64_t tap = (td * shape.kernel[1] + th) * shape.kernel[2] + tw;
          for (std::int64_t c = 0; c < to.channels; ++c) {
            for (std::int64_t e = 0; e < group_from; ++e) {
              const std::int64_t weight = (c * shape.taps() + tap) * group_from + e;
              const std::int64_t at_from = seen * from.channels + c / group_to * group_from + e;
              const std::int64_t at_to = row * to.channels + c;
              shape.transposed ? function(at_to, weight, at_from) : function(at_from, weight, at_to);
            }
          }
        }
      }
    }
  }
}

}  // namespace mylos::test

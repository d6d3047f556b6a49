#include "convolution_map.hpp"

#include <numeric>

namespace mylos {

ConvolutionMap::ConvolutionMap(const ConvolutionShape& shape)
    : from(shape.transposed ? output_grid(shape) : shape.input),
      to(shape.transposed ? shape.input : output_grid(shape)),
      kernel(shape.kernel),
      stride(shape.stride),
      padding(shape.padding),
      padding_kind(shape.padding_kind),
      dilation(shape.dilation),
      groups(shape.groups) {}

bool ConvolutionMap::is_product() const {
  const Extents one = {1, 1, 1};
  const Extents none = {0, 0, 0};
  return groups == 1 && kernel == one && stride == one && padding == none;
}

bool ConvolutionMap::adjoint_is_direct() const {
  if (padding == Extents{0, 0, 0}) return true;
  if (padding_kind == PaddingKind::reflect) return false;
  if (padding_kind == PaddingKind::zero) return true;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t extent = from.extent[axis];
    if (padding[axis] == 0) continue;
    if (extent % stride[axis] != 0 || (to.extent[axis] - 1) * stride[axis] >= extent) return false;
  }
  return true;
}

ConvolutionMap ConvolutionMap::of_padded() const {
  ConvolutionMap padded = *this;
  for (std::size_t axis = 0; axis < 3; ++axis) padded.from.extent[axis] += 2 * padding[axis];
  padded.padding = {0, 0, 0};
  padded.padding_kind = PaddingKind::zero;
  return padded;
}

Gather ConvolutionMap::gather() const {
  Gather all;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const bool pads = padding[axis] > 0;
    all.axis[axis] = {.stride = stride[axis],
                      .offset = -padding[axis],
                      .step = dilation[axis],
                      .extent = from.extent[axis],
                      .period = pads && padding_kind == PaddingKind::periodic ? from.extent[axis] : 0,
                      .reflects = pads && padding_kind == PaddingKind::reflect};
  }
  all.targets = to.extent;
  all.taps = kernel;
  all.channels = from.channels;
  all.groups = groups;
  return all;
}

AdjointPhase adjoint_phase(const ConvolutionMap& map, const Extents& phase) {
  AdjointPhase result;
  result.first_point = phase;
  result.gather.channels = map.to.channels;
  result.gather.groups = map.groups;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t stride = map.stride[axis];
    const std::int64_t dilation = map.dilation[axis];
    const std::int64_t common = std::gcd(stride, dilation);
    const std::int64_t tap_step = stride / common;
    const std::int64_t start = phase[axis] + map.padding[axis];
    std::int64_t tap = 0;
    while (tap < map.kernel[axis] && tap < tap_step && (start - tap * dilation) % stride != 0) ++tap;
    const bool sees = tap < map.kernel[axis] && tap < tap_step;
    const bool wraps = map.padding_kind == PaddingKind::periodic && map.padding[axis] > 0;
    result.first_tap[axis] = tap;
    result.tap_step[axis] = tap_step;
    result.gather.taps[axis] = sees ? (map.kernel[axis] - 1 - tap) / tap_step + 1 : 0;
    result.gather.targets[axis] = (map.from.extent[axis] - phase[axis] + stride - 1) / stride;
    result.gather.axis[axis] = {.stride = 1,
                                .offset = sees ? (start - tap * dilation) / stride : 0,
                                .step = -dilation / common,
                                .extent = map.to.extent[axis],
                                .period = wraps ? map.from.extent[axis] / stride : 0};
  }
  return result;
}

}  // namespace mylos

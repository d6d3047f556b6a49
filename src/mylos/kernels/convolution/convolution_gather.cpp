#include "mylos/kernels/convolution/convolution_gather.hpp"

#include <numeric>

namespace mylos {

Gather gather_of(const ConvolutionMap& map) {
  Gather all = gather_of(map.edges());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    all.axis[axis].stride = map.stride[axis];
    all.axis[axis].step = map.dilation[axis];
  }
  all.targets = map.to.extent;
  all.taps = map.kernel;
  all.groups = map.groups;
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
    const bool wraps = map.padding_kind[axis] == PaddingKind::periodic && map.padding[axis] > 0;
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

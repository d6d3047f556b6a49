#include "mylos/model/layers/conv/split_convolution.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

/// Returns the points around the box that the adjoint reads.
std::int64_t adjoint_width(const ConvolutionShape& shape, std::size_t axis) {
  const std::int64_t stride = shape.stride[axis];
  const std::int64_t padding = shape.padding[axis];
  const std::int64_t before =
      std::max<std::int64_t>(0, shape.dilation[axis] * (shape.kernel[axis] - 1) - padding);
  return std::max(before / stride, (padding + stride - 1) / stride);
}

void require_axis(const ConvolutionShape& shape, std::size_t axis) {
  const std::int64_t from = shape.input.extent[axis];
  const std::int64_t to = output_grid(shape).extent[axis];
  const std::int64_t stride = shape.stride[axis];
  if (shape.transposed ? to != from * stride : from != to * stride) {
    fail_input(
        errors::bad_layer,
        "a rank's box has {} points in {}, and {} of the output; with a stride of {}, mesh.space can "
        "divide that axis if there are {} times as many points in one as in the other: give boxes whose "
        "points are a multiple of the stride, and a 'padding' that loses none",
        from, axis_names[axis], to, stride, stride);
  }
  const PaddingKind kind = shape.padding_kind[axis];
  if (shape.padding[axis] == 0 || kind == PaddingKind::zero || kind == PaddingKind::periodic) return;
  fail_input(errors::bad_layer,
             "mesh.space divides {}, whose edges are {}; only axes whose edges are zero or periodic can be "
             "divided",
             axis_names[axis], kind == PaddingKind::pole ? "poles" : "mirrors (\"reflect\")");
}

void require_meridians(const ConvolutionShape& shape, const GridPart& part) {
  const int pole = shape.padding_kind.axis_of(PaddingKind::pole);
  if (!divides_meridians(shape.padding_kind, part) || shape.padding[static_cast<std::size_t>(pole)] == 0)
    return;
  fail_input(
      errors::bad_layer,
      "mesh.space divides {}, the axis around the poles of {}, where a rank reads the opposite meridian; "
      "divide another axis",
      axis_names[static_cast<std::size_t>(shape.padding_kind.axis_of(PaddingKind::periodic))],
      axis_names[static_cast<std::size_t>(pole)]);
}

/// Returns the shape without padding of the divided axes.
ConvolutionShape without_padding(const ConvolutionShape& shape, const GridPart& part) {
  ConvolutionShape result = shape;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (part.is_split(axis)) result.padding[axis] = 0;
    if (result.padding[axis] == 0) result.padding_kind[axis] = PaddingKind::zero;
  }
  return result;
}

Halo halo_of(const GridShape& box, const Extents& width, const PaddingKinds& edges) {
  const auto is_periodic = [&](std::size_t axis) { return edges[axis] == PaddingKind::periodic; };
  return {box, width, {is_periodic(0), is_periodic(1), is_periodic(2)}};
}

}  // namespace

SplitConvolution split(const ConvolutionShape& shape, const GridPart& part) {
  check(shape);
  const GridShape output = output_grid(shape);
  const Extents none = {0, 0, 0};
  if (!part.is_split()) return {shape, shape, halo_of(shape.input, none, {}), halo_of(output, none, {})};
  require_meridians(shape, part);
  ConvolutionShape map = without_padding(shape, part);
  ConvolutionShape adjoint = map;
  Extents of_map = none;
  Extents of_adjoint = none;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis)) continue;
    require_axis(shape, axis);
    of_map[axis] = shape.padding[axis];
    of_adjoint[axis] = adjoint_width(shape, axis);
    if (!shape.transposed) map.input.extent[axis] += 2 * of_map[axis];
    if (shape.transposed) adjoint.input.extent[axis] += 2 * of_adjoint[axis];
    adjoint.padding[axis] = shape.padding[axis] + of_adjoint[axis] * shape.stride[axis];
  }
  if (shape.transposed) {
    return {adjoint, map, halo_of(shape.input, of_adjoint, shape.padding_kind),
            halo_of(output, of_map, shape.padding_kind)};
  }
  return {map, adjoint, halo_of(shape.input, of_map, shape.padding_kind),
          halo_of(output, of_adjoint, shape.padding_kind)};
}

}  // namespace mylos

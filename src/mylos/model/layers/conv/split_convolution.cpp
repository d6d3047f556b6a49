#include "mylos/model/layers/conv/split_convolution.hpp"

#include <array>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

void require_axis(const ConvolutionShape& shape, std::size_t axis) {
  const std::int64_t from = shape.input.extent[axis];
  const std::int64_t to = output_grid(shape).extent[axis];
  const std::int64_t stride = shape.stride[axis];
  if (stride == 1 && from != to) {
    fail_input(errors::bad_layer,
               "a box has {} points in {}, and {} of the output; mesh.space divides that axis, where a layer "
               "without a stride must keep the points: give an odd 'kernel' and the 'padding' (kernel - 1) * "
               "dilation / 2, or divide another axis",
               from, axis_names[axis], to);
  }
  if (shape.transposed ? to != from * stride : from != to * stride) {
    fail_input(
        errors::bad_layer,
        "a box has {} points in {}, and {} of the output; mesh.space divides that axis, where one must "
        "be {} times the other, the stride: give boxes of a multiple of {} points and a 'padding' that "
        "loses none, or divide another axis",
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
    if (part.has_boxes(axis)) result.padding[axis] = 0;
    if (result.padding[axis] == 0) result.padding_kind[axis] = PaddingKind::zero;
  }
  return result;
}

std::array<bool, 3> periodic_axes(const PaddingKinds& edges) {
  const auto is_periodic = [&](std::size_t axis) { return edges[axis] == PaddingKind::periodic; };
  return {is_periodic(0), is_periodic(1), is_periodic(2)};
}

}  // namespace

SplitConvolution split(const ConvolutionShape& shape, const GridPart& part) {
  check(shape);
  const GridShape output = output_grid(shape);
  if (!part.has_boxes()) return {shape, shape, Halo(shape.input, {}, {}), Halo(output, {}, {})};
  require_meridians(shape, part);
  ConvolutionShape map = without_padding(shape, part);
  ConvolutionShape adjoint = map;
  HaloWidths of_map, of_adjoint;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.has_boxes(axis)) continue;
    require_axis(shape, axis);
    const std::int64_t stride = shape.stride[axis];
    const std::int64_t padding = shape.padding[axis];
    of_map.before[axis] = of_map.after[axis] = padding;
    // The finer grid has `stride` times the points of the coarser one: neither is negative, and after >=
    // before.
    const std::int64_t before = (shape.dilation[axis] * (shape.kernel[axis] - 1) - padding) / stride;
    const std::int64_t after = (padding + stride - 1) / stride;
    of_adjoint.before[axis] = before;
    of_adjoint.after[axis] = after;
    adjoint.padding[axis] = padding + before * stride;
    adjoint.far_padding[axis] = (after - before) * stride;
    if (shape.transposed) adjoint.input.extent[axis] += before + after;
    if (!shape.transposed) map.input.extent[axis] += 2 * padding;
  }
  const std::array<bool, 3> periodic = periodic_axes(shape.padding_kind);
  if (shape.transposed)
    return {adjoint, map, Halo(shape.input, of_adjoint, periodic), Halo(output, of_map, periodic)};
  return {map, adjoint, Halo(shape.input, of_map, periodic), Halo(output, of_adjoint, periodic)};
}

}  // namespace mylos

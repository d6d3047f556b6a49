#include "mylos/model/layers/conv/split_convolution.hpp"

#include <algorithm>
#include <array>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

/// Returns whether points of the grid stand for those beyond the axis' edges, from the same edge.
bool is_mirror(const ConvolutionShape& shape, std::size_t axis) {
  const PaddingKind kind = shape.padding_kind[axis];
  return shape.padding[axis] > 0 && (kind == PaddingKind::reflect || kind == PaddingKind::pole);
}

bool has_mirrors(const ConvolutionShape& shape, const GridPart& part) {
  const auto is_one = [&](std::size_t axis) { return part.has_boxes(axis) && is_mirror(shape, axis); };
  return is_one(0) || is_one(1) || is_one(2);
}

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
  if (!shape.transposed || !is_mirror(shape, axis)) return;
  fail_input(errors::bad_layer,
             "mesh.space divides {}, whose edges are {}; a transposed convolution can only divide axes whose "
             "edges are zero or periodic",
             axis_names[axis],
             shape.padding_kind[axis] == PaddingKind::pole ? "poles" : "mirrors (\"reflect\")");
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

/// Returns what lies beyond the edges of the whole grid, except what the ranks send.
PaddingKinds edges_of_box(const ConvolutionShape& shape, const GridPart& part) {
  PaddingKinds edges = shape.padding_kind;
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (part.has_boxes(axis) && edges[axis] == PaddingKind::periodic) edges[axis] = PaddingKind::zero;
  return edges;
}

/// Replaces the backward pass by that of the layer on a larger box.
void widen(SplitConvolution& split, const ConvolutionShape& shape, const GridPart& part) {
  const GridShape output = output_grid(shape);
  const std::array<bool, 3> periodic = periodic_axes(shape.padding_kind);
  HaloWidths points, windows = split.output.widths();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.has_boxes(axis)) continue;
    const std::int64_t stride = shape.stride[axis];
    // Beyond the points that the mirrors at its ends reach.
    const std::int64_t reached = is_mirror(shape, axis) ? shape.padding[axis] / stride + 1 : 0;
    const std::int64_t count = std::max({windows.before[axis], windows.after[axis], reached});
    windows.before[axis] = windows.after[axis] = count;
    points.before[axis] = points.after[axis] = count * stride;
  }
  split.surplus = Halo(shape.input, points, periodic).inside(part);
  split.output = Halo(output, windows, periodic).inside(part);
  split.input = split.input.with_edges(edges_of_box(shape, part), part);
  split.backward = shape;
  split.backward.input = split.surplus.extended();
  split.backward.padding_kind = edges_of_box(shape, part);
}

}  // namespace

SplitConvolution split(const ConvolutionShape& shape, const GridPart& part) {
  check(shape);
  const GridShape output = output_grid(shape);
  const Halo none(shape.input, {}, {});
  if (!part.has_boxes()) return {shape, shape, none, Halo(output, {}, {}), none};
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
    return {adjoint, map, Halo(shape.input, of_adjoint, periodic), Halo(output, of_map, periodic), none};
  SplitConvolution result{map, adjoint, Halo(shape.input, of_map, periodic),
                          Halo(output, of_adjoint, periodic), none};
  if (has_mirrors(shape, part)) widen(result, shape, part);
  return result;
}

std::vector<ConvolutionShape> backward_of_boxes(const ConvolutionShape& shape, const GridPart& part) {
  std::vector<ConvolutionShape> shapes;
  if (!has_mirrors(shape, part)) return shapes;
  for (const GridPart& box : parts_by_edges(part)) shapes.push_back(split(shape, box).backward);
  return shapes;
}

}  // namespace mylos

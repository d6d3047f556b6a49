#include "mylos/model/layers/pool/split_pool.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

void require_pool_axis(const PoolShape& shape, std::size_t axis) {
  const std::int64_t points = shape.input.extent[axis];
  const std::int64_t stride = shape.stride[axis];
  const std::int64_t window = shape.window[axis];
  const std::int64_t padding = shape.padding[axis];
  if (points % stride != 0) {
    fail_input(
        errors::bad_layer,
        "a box has {} points in {}, and its windows a stride of {}; mesh.space divides that axis, where "
        "boxes must have a multiple of the stride: give fewer boxes, or divide another axis",
        points, axis_names[axis], stride);
  }
  if (2 * padding < window && window - 2 * padding <= stride) return;
  fail_input(
      errors::bad_layer,
      "windows of {} points at a stride of {} and with {} of padding are not {} for each box of {} points in "
      "{}, which mesh.space divides; give 2 * 'padding' from kernel - stride to kernel - 1 (an odd 'kernel': "
      "(kernel - 1) / 2), or divide another axis",
      window, stride, padding, points / stride, points, axis_names[axis]);
}

template <class Workspace>
PoolWorkspace largest_pool_workspace(const PoolShape& shape, const GridPart& part,
                                     const Workspace& workspace_of) {
  PoolWorkspace largest;
  for (const GridPart& box : parts_by_edges(part)) {
    const SplitPool passes = split(shape, box);
    largest.forward = std::max(largest.forward, workspace_of(passes.forward).forward);
    largest.backward = std::max(largest.backward, workspace_of(passes.backward).backward);
  }
  return largest;
}

}  // namespace

SplitPool split(const PoolShape& shape, const GridPart& part) {
  check(shape);
  const GridShape windows = output_grid(shape);
  HaloWidths of_input, of_output, of_seen;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis)) continue;
    require_pool_axis(shape, axis);
    const std::int64_t stride = shape.stride[axis];
    const std::int64_t window = shape.window[axis];
    const std::int64_t padding = shape.padding[axis];
    const std::int64_t before = (window - 1 - padding) / stride;
    const std::int64_t after = (padding + stride - 1) / stride;
    of_input.before[axis] = padding;
    of_input.after[axis] = std::max<std::int64_t>(0, window - stride - padding);
    of_output.before[axis] = before;
    of_output.after[axis] = after;
    of_seen.before[axis] = padding + before * stride;
    of_seen.after[axis] = std::max<std::int64_t>(0, window - padding + (after - 1) * stride);
  }
  SplitPool result{.forward = shape,
                   .backward = shape,
                   .input = Halo(shape.input, of_input, {}).inside(part),
                   .output = Halo(windows, of_output, {}).inside(part),
                   .seen = Halo(shape.input, of_seen, {}).inside(part)};
  for (PoolShape* const pass : {&result.forward, &result.backward}) {
    pass->input = (pass == &result.forward ? result.input : result.seen).extended();
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool is_first = part.at[axis] == 0;
      const bool is_last = part.at[axis] + 1 == part.boxes[axis];
      const std::int64_t padding = shape.padding[axis];
      pass->padding[axis] = is_first ? padding : 0;
      pass->far_padding[axis] = (is_last ? padding : 0) - pass->padding[axis];
    }
  }
  return result;
}

PoolWorkspace max_pool_workspace(const PoolShape& shape, const GridPart& part, DType type,
                                 std::int64_t samples) {
  return largest_pool_workspace(
      shape, part, [&](const PoolShape& pass) { return max_pool_workspace(pass, type, samples); });
}

PoolWorkspace average_pool_workspace(const PoolShape& shape, const GridPart& part, std::int64_t samples) {
  return largest_pool_workspace(shape, part,
                                [&](const PoolShape& pass) { return average_pool_workspace(pass, samples); });
}

}  // namespace mylos

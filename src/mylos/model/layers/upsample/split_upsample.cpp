#include "mylos/model/layers/upsample/split_upsample.hpp"

namespace mylos {

SplitUpsample split(const UpsampleShape& shape, const GridPart& part) {
  check(shape);
  HaloWidths of_input, of_output;
  std::array<bool, 3> periodic = {};
  PaddingKinds edges = shape.edges;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!part.is_split(axis) || shape.factor[axis] == 1 || shape.interpolation == Interpolation::nearest)
      continue;
    of_input.before[axis] = of_input.after[axis] = 1;
    of_output.before[axis] = of_output.after[axis] = shape.factor[axis] / 2;
    periodic[axis] = edges[axis] == PaddingKind::periodic;
    if (periodic[axis]) edges[axis] = PaddingKind::zero;  // what lies beyond has arrived
  }
  SplitUpsample result{.forward = shape,
                       .backward = shape,
                       .input = Halo(shape.input, of_input, periodic).inside(part),
                       .output = Halo(output_grid(shape), of_output, periodic).inside(part)};
  result.forward.edges = edges;
  result.forward.input = result.input.extended();
  result.backward = result.forward;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto left_out = [&](std::int64_t points, std::int64_t read) {
      return points * shape.factor[axis] - read;
    };
    const HaloWidths& points = result.input.widths();
    const HaloWidths& read = result.output.widths();
    result.forward.left_out.before[axis] = left_out(points.before[axis], 0);
    result.forward.left_out.after[axis] = left_out(points.after[axis], 0);
    result.backward.left_out.before[axis] = left_out(points.before[axis], read.before[axis]);
    result.backward.left_out.after[axis] = left_out(points.after[axis], read.after[axis]);
  }
  return result;
}

}  // namespace mylos

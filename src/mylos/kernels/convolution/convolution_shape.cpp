#include "mylos/kernels/convolution/convolution_shape.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"

namespace mylos {
namespace {

/// Returns the points that the kernel covers, minus one.
std::int64_t reach(const ConvolutionShape& shape, std::size_t axis) {
  return shape.dilation[axis] * (shape.kernel[axis] - 1);
}

std::int64_t output_extent(const ConvolutionShape& shape, std::size_t axis) {
  const std::int64_t points = shape.input.extent[axis];
  const std::int64_t padding = 2 * shape.padding[axis] + shape.far_padding[axis];
  if (shape.transposed) {
    return (points - 1) * shape.stride[axis] - padding + reach(shape, axis) + 1 + shape.output_padding[axis];
  }
  const std::int64_t room = points + padding - reach(shape, axis) - 1;
  return room < 0 ? 0 : room / shape.stride[axis] + 1;
}

void check_sizes(const ConvolutionShape& shape) {
  const auto check_size = [](const char* name, std::size_t axis, std::int64_t value, std::int64_t min) {
    if (value < min || value > max_points) {
      fail_input(errors::bad_layer, "a convolution's {} in {} is {}; expected {} to {}", name,
                 axis_names[axis], value, min, max_points);
    }
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    check_size("kernel", axis, shape.kernel[axis], 1);
    check_size("stride", axis, shape.stride[axis], 1);
    check_size("dilation", axis, shape.dilation[axis], 1);
    check_size("padding", axis, shape.padding[axis], 0);
    check_size("output padding", axis, shape.output_padding[axis], 0);
    check_size("far padding", axis, shape.far_padding[axis], 0);
    if (shape.far_padding[axis] > 0 && shape.padding_kind[axis] != PaddingKind::zero) {
      fail_input(errors::bad_layer, "a convolution's far padding in {} is of zeros, and its edges are not",
                 axis_names[axis]);
    }
    const bool wider_than_stride = shape.output_padding[axis] >= shape.stride[axis];
    if (shape.output_padding[axis] > 0 && (!shape.transposed || wider_than_stride)) {
      fail_input(
          errors::bad_layer,
          "a convolution's output padding in {1} is {0}; it must be less than the stride, {2}, and only a "
          "transposed convolution has one",
          shape.output_padding[axis], axis_names[axis], shape.stride[axis]);
    }
  }
}

void check_groups(const ConvolutionShape& shape) {
  if (shape.outputs < 1 || shape.outputs > max_points)
    fail_input(errors::bad_layer, "a convolution's output has {} channels, expected 1 to {}", shape.outputs,
               max_points);
  if (shape.groups < 1)
    fail_input(errors::bad_layer, "a convolution has {} groups, expected at least 1", shape.groups);
  if (shape.input.channels % shape.groups != 0 || shape.outputs % shape.groups != 0) {
    fail_input(errors::bad_layer,
               "a convolution from {} to {} channels in {} groups: the groups must divide both",
               shape.input.channels, shape.outputs, shape.groups);
  }
}

}  // namespace

void check(const ConvolutionShape& shape) {
  check_grid(shape.input, "a convolution's input");
  check_sizes(shape);
  check_groups(shape);
  const std::int64_t taps =
      checked_product(checked_product(shape.kernel[0], shape.kernel[1], "a convolution's kernel"),
                      shape.kernel[2], "a convolution's kernel");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (output_extent(shape, axis) < 1) {
      fail_input(
          errors::bad_layer,
          "a convolution's output has no points in {}: the input has {} points, padding is {} on both sides, "
          "and the kernel has {} points, dilated by {}",
          axis_names[axis], shape.input.extent[axis], shape.padding[axis], shape.kernel[axis],
          shape.dilation[axis]);
    }
  }
  const GridShape output = output_grid(shape);
  check_grid(output, "a convolution's output");
  check(GridEdges{shape.transposed ? output : shape.input, shape.padding, shape.padding_kind});
  const GridShape& smaller_grid = shape.transposed ? shape.input : output;  // one row for each of its points
  const std::int64_t channels = std::max(shape.input.channels, shape.outputs);
  const std::int64_t row = checked_product(taps, channels, "a convolution's taps and channels");
  if (row > max_points) {
    fail_input(errors::bad_layer,
               "a convolution's kernel has {} taps and {} channels; an output channel can have {} weights",
               taps, channels, max_points);
  }
  const std::int64_t weights = checked_product(weight_rows(shape), weight_columns(shape), "its weights");
  if (weights > max_points)
    fail_input(errors::bad_layer, "a convolution has {} weights; the limit is {}", weights, max_points);
  static_cast<void>(checked_product(shape.input.points(), shape.input.channels, "a convolution's input"));
  static_cast<void>(checked_product(output.points(), output.channels, "a convolution's output"));
  static_cast<void>(checked_product(smaller_grid.points(), row, "a convolution's products"));
}

GridShape output_grid(const ConvolutionShape& shape) {
  return {{output_extent(shape, 0), output_extent(shape, 1), output_extent(shape, 2)}, shape.outputs};
}

std::int64_t weight_rows(const ConvolutionShape& shape) {
  return shape.transposed ? shape.input.channels : shape.outputs;
}

std::int64_t weight_columns(const ConvolutionShape& shape) {
  return shape.taps() * (shape.transposed ? shape.outputs : shape.input.channels) / shape.groups;
}

double flops_of(const ConvolutionShape& shape) {
  const auto points = shape.transposed ? shape.input.points() : output_grid(shape).points();
  return 2.0 * static_cast<double>(points) * static_cast<double>(weight_rows(shape)) *
         static_cast<double>(weight_columns(shape));
}

}  // namespace mylos

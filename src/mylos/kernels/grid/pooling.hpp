// Pooling: the maximum or the average over the windows of a grid, channel by channel, forward and backward.
//
// Windows are placed like a convolution's kernel (convolution_shape.hpp, without dilation). Points beyond the
// grid's edges are ignored: an average divides by the number of points inside (PyTorch's count_include_pad =
// false). The backward pass gathers: it adds the windows that see a point in float, in their order, and
// rounds once.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

struct PoolShape {
  GridShape input;
  Extents window = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents padding = {0, 0, 0};  ///< on both sides, less than the window, so that every window sees a point
  Extents far_padding = {0, 0, 0};  ///< more of it at the far end, or less
};

/// Throws Error (bad input) that says what would be right.
void check(const PoolShape& shape);

/// Returns the output grid of a shape that has passed check().
[[nodiscard]] GridShape output_grid(const PoolShape& shape);

/// Returns the values that windows read, or points collect, per sample and pass: the windows' extents, summed
/// over axes.
[[nodiscard]] double pool_steps(const PoolShape& shape);

/// The bytes of workspace: a few MiB, or those of one sample if that is more, for any number of samples.
struct PoolWorkspace {
  std::size_t forward = 0;
  std::size_t backward = 0;
};
[[nodiscard]] PoolWorkspace max_pool_workspace(const PoolShape& shape, DType type, std::int64_t samples);
[[nodiscard]] PoolWorkspace average_pool_workspace(const PoolShape& shape, std::int64_t samples);

/// Computes the maxima. x: [samples, input columns], y: [samples, output columns], of one type; they must not
/// overlap. The maximum of a window with NaN is NaN.
void max_pool_forward(const Execution& exec, const PoolShape& shape, const ConstTensor& x, const Tensor& y,
                      void* workspace);

/// Returns whether max_pool_backward reads the output; if not, it may be empty.
[[nodiscard]] bool max_pool_reads_output(const PoolShape& shape);

/// Adds a window's gradient to the first of its maxima or, if it has NaN, to the first NaN. That point is
/// found again from input and output, so that nothing else is stored.
void max_pool_backward(const Execution& exec, const PoolShape& shape, const ConstTensor& x,
                       const ConstTensor& y, const ConstTensor& dy, const Tensor& dx, void* workspace);

void average_pool_forward(const Execution& exec, const PoolShape& shape, const ConstTensor& x,
                          const Tensor& y, void* workspace);
void average_pool_backward(const Execution& exec, const PoolShape& shape, const ConstTensor& dy,
                           const Tensor& dx, void* workspace);

/// Returns the bytes of workspace that global_average_forward needs.
[[nodiscard]] std::size_t global_average_workspace(const GridShape& grid, std::int64_t samples);

/// Computes y: [samples, channels] = the average over all points of x: [samples, grid's columns]. The sums
/// are in float, over blocks of points, in an order that depends on the grid alone.
void global_average_forward(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                            const Tensor& y, void* workspace);
/// `points`: of which y is the average; by default those of the grid.
void global_average_backward(const Execution& exec, const GridShape& grid, const ConstTensor& dy,
                             const Tensor& dx, double points);
inline void global_average_backward(const Execution& exec, const GridShape& grid, const ConstTensor& dy,
                                    const Tensor& dx) {
  global_average_backward(exec, grid, dy, dx, static_cast<double>(grid.points()));
}

/// Of boxes of samples, which ranks hold: writes the sums over the points of a box, [samples, channels]
/// doubles; and computes y from their sums over all boxes, of `points` points. The sums of one box give the
/// bits of global_average_forward(). The gradient of a box is global_average_backward() of the mean number of
/// points of a box, if each rank has a loss of its own of y, as many as there are boxes.
void global_sums(const Execution& exec, const GridShape& box, const ConstTensor& x, double* sums,
                 void* workspace);
void average_of_sums(const Execution& exec, std::int64_t points, const double* sums, const Tensor& y);

}  // namespace mylos

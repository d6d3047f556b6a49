// Pooling: the maximum or the average of the windows of a grid, channel by channel, forward and backward.
//
// Windows lie as a convolution's kernel does (convolution_shape.hpp, without dilation). What lies beyond the
// grid's edges does not count: a maximum passes it over, and an average divides by the number of points that
// are left (PyTorch's count_include_pad = false). Backward gathers: the windows that see a point are added up
// in float, in their order, and rounded once.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

struct PoolShape {
  GridShape input;
  Extents window = {1, 1, 1};
  Extents stride = {1, 1, 1};
  Extents padding = {0, 0, 0};  ///< on both sides, less than the window: every window sees a point
};

/// Throws Error (bad input), saying what would be right.
void check(const PoolShape& shape);

/// The grid that check()ed shapes make.
[[nodiscard]] GridShape output_grid(const PoolShape& shape);

/// Values that windows read and points collect, of one sample and one pass: the axes' windows, summed over
/// axes.
[[nodiscard]] double pool_steps(const PoolShape& shape);

/// Bytes of workspace: a few MiB, or one sample's where that is more, whatever the number of samples.
struct PoolWorkspace {
  std::size_t forward = 0;
  std::size_t backward = 0;
};
[[nodiscard]] PoolWorkspace max_pool_workspace(const PoolShape& shape, DType type, std::int64_t samples);
[[nodiscard]] PoolWorkspace average_pool_workspace(const PoolShape& shape, std::int64_t samples);

/// x: [samples, input columns], y: [samples, output columns], of one type; they do not overlap. A window with
/// NaN has NaN.
void max_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y,
                      void* workspace);

/// A window's gradient goes to the first of its maxima, or, where it has NaN, to the first NaN. Nothing is
/// kept for it but input and output: which point that is, is found again.
void max_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y,
                       const Tensor& dy, const Tensor& dx, void* workspace);

void average_pool_forward(const Execution& exec, const PoolShape& shape, const Tensor& x, const Tensor& y,
                          void* workspace);
void average_pool_backward(const Execution& exec, const PoolShape& shape, const Tensor& dy, const Tensor& dx,
                           void* workspace);

/// Bytes of workspace that global_average_forward needs.
[[nodiscard]] std::size_t global_average_workspace(const GridShape& grid, std::int64_t samples);

/// y: [samples, channels] = the average over all points of x: [samples, grid's columns]. The sums are in
/// float, of blocks of points, in an order that the grid gives.
void global_average_forward(const Execution& exec, const GridShape& grid, const Tensor& x, const Tensor& y,
                            void* workspace);
void global_average_backward(const Execution& exec, const GridShape& grid, const Tensor& dy,
                             const Tensor& dx);

}  // namespace mylos

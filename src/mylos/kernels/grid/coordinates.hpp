// Coordinates: appends the position of each point of a grid to its channels.
//
//   y[p] = [x[p], p_1 / n_1, ..., p_d / n_d]
//
// The positions are those of a periodic field on a unit box: n points of an axis lie at 0, 1/n, ..., (n-1)/n.
// They are computed in float and rounded once. The points of a box have those of the whole grid.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/grid_part.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

/// Returns the grid with one more channel for each of its last `axes` axes.
[[nodiscard]] GridShape with_coordinates(const GridShape& grid, std::size_t axes);

/// Computes y of the samples' grids. x: [samples, columns of grid], y: [samples, columns of
/// with_coordinates(grid, axes)], of one type; they must not overlap. `part`: the grid is that box of a
/// larger one.
void append_coordinates(const Execution& exec, const GridShape& grid, std::size_t axes, const ConstTensor& x,
                        const Tensor& y, const GridPart& part = {});

/// Computes dx, the gradient of the grid's own channels.
void coordinates_backward(const Execution& exec, const GridShape& grid, std::size_t axes,
                          const ConstTensor& dy, const Tensor& dx);

}  // namespace mylos

// by_points: samples on grids, viewed with one row per grid point.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// Returns a view [rows · points, channels] of [rows, points · channels]; empty if the matrix is.
template <class Void>
[[nodiscard]] BasicTensor<Void> by_points(const BasicTensor<Void>& matrix, std::int64_t points) {
  return {matrix.data(), matrix.type(), matrix.rows() * points, matrix.columns() / points};
}

}  // namespace mylos

// Copies of some columns of a matrix into some columns of another: what joins two matrices side by side, and
// cuts one into two.
#pragma once

#include "mylos/base/tensor.hpp"

namespace mylos {

/// A stretch of columns of a matrix.
struct Columns {
  Tensor matrix;
  std::int64_t first = 0;
};

/// to[r, to.first + c] = from[r, from.first + c] for c in [0, count); `adds`: += instead, rounded once. Both
/// have the same rows and type.
void copy_columns(const Execution& exec, const Columns& from, const Columns& to, std::int64_t count,
                  bool adds = false);

}  // namespace mylos

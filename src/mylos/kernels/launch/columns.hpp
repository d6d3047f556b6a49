// Copies a range of columns from one matrix to another, to concatenate two matrices or to split one.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"

namespace mylos {

/// A range of columns of a matrix, from column `first` on.
struct Columns {
  Tensor matrix;
  std::int64_t first = 0;
};
/// One whose elements are only read.
struct ConstColumns {
  ConstTensor matrix;
  std::int64_t first = 0;
};

/// Copies to[r, to.first + c] = from[r, from.first + c] for c in [0, count). If `adds`, adds instead and
/// rounds once. Both matrices must have the same number of rows and the same type.
void copy_columns(const Execution& exec, const ConstColumns& from, const Columns& to, std::int64_t count,
                  bool adds = false);

}  // namespace mylos

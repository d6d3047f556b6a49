// Casts between types: a block whose compute type differs from its input's type works on a copy.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

/// Takes memory for a copy of a matrix in type `to`; returns an empty tensor if `from` and `to` are equal.
[[nodiscard]] inline Tensor take_copy(Pieces& workspace, DType from, DType to, std::int64_t rows,
                                      std::int64_t columns) {
  return from == to ? Tensor() : workspace.take_tensor(to, rows, columns);
}

/// Casts `tensor` into `copy` and returns the copy; returns `tensor` if `copy` is empty.
[[nodiscard]] inline ConstTensor cast(const Execution& exec, const ConstTensor& tensor, const Tensor& copy) {
  if (copy.empty()) return tensor;
  convert(exec, tensor, copy);
  return copy;
}

}  // namespace mylos

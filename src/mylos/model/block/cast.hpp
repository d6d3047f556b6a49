// Casts where types meet: a block whose compute type differs from its input's works on a copy.
#pragma once

#include "mylos/base/device/pieces.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

/// Room for a matrix of type `from` in type `to`; empty where they are the same.
[[nodiscard]] inline Tensor take_copy(Pieces& workspace, DType from, DType to, std::int64_t rows,
                                      std::int64_t columns) {
  return from == to ? Tensor() : workspace.take_tensor(to, rows, columns);
}

/// `tensor` in the type of `copy`, which receives it; itself where that is empty.
[[nodiscard]] inline Tensor cast(const Execution& exec, const Tensor& tensor, const Tensor& copy) {
  if (copy.empty()) return tensor;
  convert(exec, tensor, copy);
  return copy;
}

}  // namespace mylos

// Casts where types meet: a block whose compute type differs from its input's works on a copy.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {

/// Bytes of workspace that cast() takes: 0 where the types are the same.
[[nodiscard]] inline std::size_t cast_bytes(std::int64_t elements, DType from, DType to) {
  return from == to ? 0 : aligned_bytes(static_cast<std::size_t>(elements) * size_of(to));
}

/// `tensor` in type `to`: itself, or a copy at the start of `workspace`.
[[nodiscard]] inline Tensor cast(const Execution& exec, const Tensor& tensor, DType to,
                                 std::byte* workspace) {
  if (tensor.type() == to) return tensor;
  const Tensor copy(workspace, to, tensor.rows(), tensor.columns());
  convert(exec, tensor, copy);
  return copy;
}

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

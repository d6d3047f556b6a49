// The types of constants in ONNX files, and their bytes as numbers.
#pragma once

#include <string_view>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

enum class TensorType { float32, float16, bfloat16, float64, int64, int32, boolean };

[[nodiscard]] constexpr std::int64_t bytes_of(TensorType type) {
  constexpr std::int64_t bytes[] = {4, 2, 2, 8, 8, 4, 1};
  return bytes[static_cast<int>(type)];
}
[[nodiscard]] constexpr bool is_integer(TensorType type) {
  return type >= TensorType::int64;
}

/// Sets the numbers of a tensor from `size` packed little-endian elements; doubles are rounded to float.
/// `bytes` must have bytes_of(type) for each.
void fill_from_bytes(ForeignTensor& tensor, TensorType type, std::string_view bytes, std::int64_t size);

}  // namespace mylos

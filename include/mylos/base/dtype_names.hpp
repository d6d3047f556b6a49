// What other programs call element types, and which of them are floating-point numbers.
#pragma once

#include <iterator>
#include <string_view>

#include "mylos/base/dtype.hpp"

namespace mylos {

/// Returns whether the type's elements are floating-point numbers; the others are integers.
[[nodiscard]] constexpr bool is_floating(DType type) {
  return type == DType::fp32 || type == DType::fp16 || type == DType::bf16 || type == DType::fp64;
}

/// Returns NumPy's name of the type: "float32" or "uint8"; "bfloat16" is the name in ml_dtypes and PyTorch.
[[nodiscard]] constexpr std::string_view numpy_name_of(DType type) {
  constexpr std::string_view names[] = {"float32", "float16", "bfloat16", "float64", "int32",
                                        "int64",   "uint8",   "uint16",   "uint32",  "uint64"};
  static_assert(std::size(names) == std::size(dtype_facts));
  return names[static_cast<std::size_t>(type)];
}

}  // namespace mylos

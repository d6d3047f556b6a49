// DType: an element type known at run time, and the one way to turn it into a type at compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mylos {

/// int32 is for tokens only: no arithmetic is done in it.
enum class DType : std::uint8_t { fp32, fp16, bf16, int32 };

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
  return type == DType::fp32 || type == DType::int32 ? 4 : 2;
}

/// The name users type in decks: "fp32", "fp16", "bf16"; and "int32".
[[nodiscard]] constexpr std::string_view name_of(DType type) {
  if (type == DType::int32) return "int32";
  return type == DType::fp32 ? "fp32" : type == DType::fp16 ? "fp16" : "bf16";
}

}  // namespace mylos

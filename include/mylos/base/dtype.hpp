// DType: an element type known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mylos {

/// An element type. Kernels compute in fp32, fp16 and bf16. The other types are only read, stored and sent:
/// tokens and labels as int32, bytes as uint8, and whatever else a file contains.
enum class DType : std::uint8_t { fp32, fp16, bf16, fp64, int32, int64, uint8, uint16, uint32, uint64 };

/// The properties of an element type.
struct DTypeFacts {
  std::size_t bytes;      // of an element
  std::string_view name;  // as decks have it
};
/// Indexed by DType.
inline constexpr DTypeFacts dtype_facts[] = {{4, "fp32"},   {2, "fp16"},  {2, "bf16"},  {8, "fp64"},
                                             {4, "int32"},  {8, "int64"}, {1, "uint8"}, {2, "uint16"},
                                             {4, "uint32"}, {8, "uint64"}};

/// Returns the bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType type) {
  return dtype_facts[static_cast<std::size_t>(type)].bytes;
}

/// Returns the name of the type as users write it in decks: "fp32", "fp16", "bf16", "int32", "uint8".
[[nodiscard]] constexpr std::string_view name_of(DType type) {
  return dtype_facts[static_cast<std::size_t>(type)].name;
}

}  // namespace mylos

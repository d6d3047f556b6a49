// FNV-1a, 64 bits: a stable hash of names, for random keys and the identity of data. It does not protect
// integrity. http://www.isthe.com/chongo/tech/comp/fnv/
#pragma once

#include <cstdint>
#include <string_view>

namespace mylos {

inline constexpr std::uint64_t fnv_offset = 14695981039346656037ull;

[[nodiscard]] constexpr std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t hash = fnv_offset) {
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ull;
  }
  return hash;
}

}  // namespace mylos

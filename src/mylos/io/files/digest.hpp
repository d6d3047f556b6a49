// Digests: CRC-32 per dataset (as Python's zlib.crc32), XXH3-128 per file (as Python's xxhash).
//
// They detect accidental damage: flipped bits, missing bytes, bytes of another file. They are not signatures:
// anybody who changes a file on purpose can recompute them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace mylos {

/// Returns the CRC-32 (zlib's, polynomial 0xedb88320) of `bytes` bytes that follow data with the CRC-32 `crc`
/// (0: no data before them).
[[nodiscard]] std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t crc = 0);

/// Returns the CRC-32 of A followed by B, from crc(A), crc(B) and the length of B.
[[nodiscard]] std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                                         std::int64_t second_bytes);

/// An incremental XXH3-128 (xxHash 0.8, seed 0).
class Xxh128 {
 public:
  Xxh128();
  void update(const void* data, std::size_t bytes);
  /// Returns the digest of all bytes so far as `hex_characters` lower-case hexadecimal digits, as xxh128sum
  /// prints it.
  [[nodiscard]] std::string digest() const;

  static constexpr std::size_t hex_characters = 32;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace mylos

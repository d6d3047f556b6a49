// Digests: CRC-32 per dataset (Python's zlib.crc32 checks it), XXH3-128 per file (Python's xxhash does).
//
// They find what happened by accident: bits that flipped, bytes that are missing or of another file. They are
// no signature: whoever changes a file on purpose can give it the digest that fits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct XXH3_state_s;

namespace mylos {

/// CRC-32 (zlib's, polynomial 0xedb88320) of `bytes` bytes, going on from `crc` of what lies before them (0:
/// nothing).
[[nodiscard]] std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t crc = 0);

/// CRC-32 of A followed by B, from crc(A), crc(B) and B's length.
[[nodiscard]] std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                                         std::int64_t second_bytes);

/// XXH3-128 (xxHash 0.8, seed 0) of bytes given in pieces.
class Xxh128 {
 public:
  Xxh128();
  void update(const void* data, std::size_t bytes);
  /// Of all bytes so far, in lower-case hexadecimal, `hex_characters` of them: what xxh128sum prints.
  [[nodiscard]] std::string digest() const;

  static constexpr std::size_t hex_characters = 32;

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

}  // namespace mylos

// Digests: CRC-32 per dataset (Python's zlib.crc32 checks it), SHA-256 per file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mylos {

/// CRC-32 (zlib's, polynomial 0xedb88320) of `bytes` bytes, going on from `crc` of what lies before them (0:
/// nothing).
[[nodiscard]] std::uint32_t crc32_of(const void* data, std::size_t bytes, std::uint32_t crc = 0);

/// CRC-32 of A followed by B, from crc(A), crc(B) and B's length.
[[nodiscard]] std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                                         std::int64_t second_bytes);

/// SHA-256 (FIPS 180-4) of bytes given in pieces. Uses the processor's SHA instructions where it has them.
class Sha256 {
 public:
  Sha256();
  void update(const void* data, std::size_t bytes);
  /// The digest in lower-case hexadecimal, 64 characters. Ends the computation.
  [[nodiscard]] std::string finish();

 private:
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t bytes_ = 0;
};

/// SHA-256 of the file's bytes from `offset` to its end. Throws Error (bad_input) when it cannot be read.
[[nodiscard]] std::string sha256_of_file(const std::string& path, std::int64_t offset = 0);

}  // namespace mylos

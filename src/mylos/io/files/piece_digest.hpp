// PieceDigest: the digest of a file's contents that a checkpoint carries, and on the way the CRC-32 of parts
// of them, in one pass.
//
// The digest is the XXH3-128 of the CRC-32s (each 4 bytes, little-endian) of consecutive pieces of 64 KiB: it
// sees any damage that stays within 32 adjacent bits of a piece or flips two bits of it, and misses other
// damage once in 2^32. It costs no more than the CRC-32s that are wanted anyway, and those of pieces can be
// joined from what several ranks know of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/io/files/digest.hpp"

namespace mylos {

/// Bytes [offset, offset + bytes) of a file.
struct ByteRange {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
};

class PieceDigest {
 public:
  static constexpr std::int64_t piece_bytes = std::int64_t{64} << 10;

  /// Of what lies in the file from byte `first` on. The ranges must not overlap; they may have any order.
  explicit PieceDigest(std::int64_t first, std::vector<ByteRange> ranges = {});

  void update(const std::byte* data, std::int64_t bytes);
  /// As Xxh128 writes it. Ends the computation.
  [[nodiscard]] std::string finish();
  /// Of each range, in the order they were given; 0 where it is empty.
  [[nodiscard]] const std::vector<std::uint32_t>& range_crcs() const { return range_crcs_; }

 private:
  [[nodiscard]] std::int64_t until_boundary() const;
  void end_piece();

  std::vector<ByteRange> ranges_;
  std::vector<std::size_t> order_;  // of ranges_, by offset
  std::vector<std::uint32_t> range_crcs_;
  std::size_t next_ = 0;  // in order_: the range that holds position_, or the first one behind it
  std::int64_t position_;
  std::int64_t piece_length_ = 0;
  std::uint32_t piece_crc_ = 0;
  Xxh128 pieces_;
};

}  // namespace mylos

// PieceDigest: the digest of a checkpoint's contents, and the CRC-32 of ranges of them, computed in one pass.
//
// The digest is the XXH3-128 of the CRC-32s (each 4 bytes, little-endian) of consecutive pieces of 64 KiB. It
// detects any damage that stays within 32 adjacent bits of a piece or flips two bits of it, and misses other
// damage with probability 2^-32. It costs no more than the CRC-32s of the datasets, which are needed anyway.
// CRC-32s of a piece can be joined from those of several ranks.
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

  /// Creates the digest of the file's contents from byte `first` on. The ranges must not overlap; they may
  /// have any order.
  explicit PieceDigest(std::int64_t first, std::vector<ByteRange> ranges = {});

  void update(const std::byte* data, std::int64_t bytes);
  /// Returns the digest in the format of Xxh128, and ends the computation.
  [[nodiscard]] std::string finish();
  /// Returns the CRC-32 of each range, in the constructor's order; 0 for an empty range.
  [[nodiscard]] const std::vector<std::uint32_t>& range_crcs() const { return range_crcs_; }

 private:
  [[nodiscard]] std::int64_t until_boundary() const;
  void end_piece();

  std::vector<ByteRange> ranges_;
  std::vector<std::size_t> order_;  // of ranges_, by offset
  std::vector<std::uint32_t> range_crcs_;
  std::size_t next_ = 0;  // index in order_ of the range that contains position_, or of the next one
  std::int64_t position_;
  std::int64_t piece_length_ = 0;
  std::uint32_t piece_crc_ = 0;
  Xxh128 pieces_;
};

}  // namespace mylos

#include "mylos/io/files/piece_digest.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace mylos {

PieceDigest::PieceDigest(std::int64_t first, std::vector<ByteRange> ranges)
    : ranges_(std::move(ranges)), order_(ranges_.size()), range_crcs_(ranges_.size(), 0), position_(first) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::erase_if(order_, [this](std::size_t i) { return ranges_[i].bytes == 0; });
  std::sort(order_.begin(), order_.end(),
            [this](std::size_t a, std::size_t b) { return ranges_[a].offset < ranges_[b].offset; });
}

/// Returns the bytes up to the next boundary of a piece or a range, so that one CRC-32 serves both.
std::int64_t PieceDigest::until_boundary() const {
  std::int64_t length = piece_bytes - piece_length_;
  if (next_ < order_.size()) {
    const ByteRange& range = ranges_[order_[next_]];
    const std::int64_t boundary = position_ < range.offset ? range.offset : range.offset + range.bytes;
    length = std::min(length, boundary - position_);
  }
  return length;
}

void PieceDigest::update(const std::byte* data, std::int64_t bytes) {
  while (bytes > 0) {
    const std::int64_t length = std::min(bytes, until_boundary());
    const std::uint32_t crc = crc32_of(data, static_cast<std::size_t>(length));
    piece_crc_ = piece_length_ == 0 ? crc : crc32_joined(piece_crc_, crc, length);
    piece_length_ += length;
    if (next_ < order_.size() && position_ >= ranges_[order_[next_]].offset) {
      const ByteRange& range = ranges_[order_[next_]];
      std::uint32_t& sum = range_crcs_[order_[next_]];
      sum = position_ == range.offset ? crc : crc32_joined(sum, crc, length);
      if (position_ + length == range.offset + range.bytes) ++next_;
    }
    position_ += length;
    if (piece_length_ == piece_bytes) end_piece();
    data += length;
    bytes -= length;
  }
}

void PieceDigest::end_piece() {
  std::array<unsigned char, 4> little_endian{};
  for (std::size_t i = 0; i < 4; ++i) {
    little_endian[i] = static_cast<unsigned char>(piece_crc_ >> (8 * i) & 0xffU);
  }
  pieces_.update(little_endian.data(), little_endian.size());
  piece_crc_ = 0;
  piece_length_ = 0;
}

std::string PieceDigest::finish() {
  if (piece_length_ > 0) end_piece();
  return pieces_.digest();
}

}  // namespace mylos

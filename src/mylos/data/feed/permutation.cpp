#include "mylos/data/feed/permutation.hpp"

#include <algorithm>
#include <bit>

namespace mylos {
namespace {

/// MurmurHash3's 64-bit finaliser (A. Appleby, public domain): every input bit affects every output bit.
std::uint64_t scramble(std::uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdull;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return value ^ (value >> 33);
}

/// A Feistel network of few bits is poor; small sets use a larger one with cycle walking.
constexpr int min_bits = 8;

std::uint64_t low_mask(int bits) {
  return (std::uint64_t{1} << bits) - 1;
}

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size) {
  const int bits = std::max(min_bits, static_cast<int>(std::bit_width(size - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  for (auto& round_key : keys_) round_key = key = scramble(key + 0x9e3779b97f4a7c15ull);
}

std::uint64_t Permutation::operator()(std::uint64_t index) const {
  do {
    std::uint64_t low = index & low_mask(low_bits_);
    std::uint64_t high = index >> low_bits_;
    for (std::size_t round = 0; round < rounds; round += 2) {
      high ^= scramble(low + keys_[round]) & low_mask(high_bits_);
      low ^= scramble(high + keys_[round + 1]) & low_mask(low_bits_);
    }
    index = high << low_bits_ | low;
  } while (index >= size_);
  return index;
}

std::uint64_t Permutation::inverse(std::uint64_t image) const {
  do {
    std::uint64_t low = image & low_mask(low_bits_);
    std::uint64_t high = image >> low_bits_;
    for (std::size_t round = rounds; round > 0; round -= 2) {
      low ^= scramble(high + keys_[round - 1]) & low_mask(low_bits_);
      high ^= scramble(low + keys_[round - 2]) & low_mask(high_bits_);
    }
    image = high << low_bits_ | low;
  } while (image >= size_);
  return image;
}

}  // namespace mylos

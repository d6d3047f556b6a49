// A keyed random permutation of [0, size) that is computed, not stored. Each element takes constant time.
//
// A Feistel network (Luby and Rackoff 1988) permutes the next power of two; values outside [0, size) are
// permuted again until they are inside (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite
// domains", CT-RSA 2002).
#pragma once

#include <array>
#include <cstdint>

namespace mylos {

class Permutation {
 public:
  /// size >= 1. Different keys give unrelated permutations.
  Permutation(std::uint64_t size, std::uint64_t key);
  /// Returns the image of `index`; index < size.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t index) const;
  /// Returns the index with the image `image`.
  [[nodiscard]] std::uint64_t inverse(std::uint64_t image) const;

 private:
  static constexpr int rounds = 8;

  std::uint64_t size_;
  int low_bits_;
  int high_bits_;
  std::array<std::uint64_t, rounds> keys_{};
};

}  // namespace mylos

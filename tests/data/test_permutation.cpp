#include "mylos/data/feed/permutation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace mylos::permutation_test {

TEST(Permutation, EveryElementIsHitOnceForManySizesAndKeys) {
  for (const std::uint64_t size :
       {1u, 2u, 3u, 5u, 10u, 63u, 64u, 65u, 100u, 255u, 256u, 257u, 1000u, 4096u, 60000u}) {
    for (std::uint64_t key = 0; key < 20; ++key) {
      const Permutation permutation(size, key);
      std::vector<char> hit(size);
      for (std::uint64_t i = 0; i < size; ++i) {
        const auto image = permutation(i);
        ASSERT_LT(image, size);
        ASSERT_FALSE(hit[image]) << "size " << size << " key " << key;
        hit[image] = 1;
        ASSERT_EQ(permutation.inverse(image), i);
      }
    }
  }
}

TEST(Permutation, SizesBeyond32BitsInvert) {
  const std::uint64_t size = (std::uint64_t{1} << 40) + 12345;
  const Permutation permutation(size, 7);
  for (std::uint64_t i = 0; i < size; i += size / 1000) EXPECT_EQ(permutation.inverse(permutation(i)), i);
}

TEST(Permutation, EveryOrderOfFourIsAboutEquallyLikely) {
  // 24 orders, 24,000 keys: chi-square with 23 degrees of freedom exceeds 52.6 with probability 0.0004.
  std::vector<int> seen(256);
  for (std::uint64_t key = 0; key < 24000; ++key) {
    const Permutation permutation(4, key);
    ++seen[permutation(0) << 6 | permutation(1) << 4 | permutation(2) << 2 | permutation(3)];
  }
  double chi_square = 0;
  int orders = 0;
  for (const int count : seen) {
    if (count == 0) continue;
    ++orders;
    chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_EQ(orders, 24);
  EXPECT_LT(chi_square, 52.6);
}

TEST(Permutation, PlacesOfAnElementAreUniformOverKeys) {
  // Each of 100 elements goes to each of 10 tenths equally often: 9 degrees of freedom each, 900 in all; the
  // sum's standard deviation is sqrt(2 * 900) = 42.4.
  double chi_square = 0;
  std::vector<std::vector<int>> tenths(100, std::vector<int>(10));
  for (std::uint64_t key = 0; key < 10000; ++key) {
    const Permutation permutation(100, key);
    for (std::uint64_t i = 0; i < 100; ++i) ++tenths[i][permutation(i) / 10];
  }
  for (const auto& element : tenths) {
    for (const int count : element) chi_square += (count - 1000.0) * (count - 1000.0) / 1000.0;
  }
  EXPECT_NEAR(chi_square, 900, 4 * 42.4);
}

/// Every bit of an index is mixed, whether their number is even or odd.
TEST(Permutation, HalfOfEachHalfGoesToTheOther) {
  for (int bits = 9; bits <= 18; ++bits) {
    const std::uint64_t half = std::uint64_t{1} << (bits - 1);
    const Permutation permutation(2 * half, 5);
    std::uint64_t staying = 0;
    for (std::uint64_t i = 0; i < half; ++i) staying += permutation(i) < half ? 1 : 0;
    // Of a random permutation half / 2 stay, with the deviation sqrt(half / 8).
    const auto size = static_cast<double>(half);
    EXPECT_NEAR(static_cast<double>(staying), size / 2, 5 * std::sqrt(size / 8)) << bits << " bits";
  }
}

TEST(Permutation, NeighboursDoNotStayNeighbours) {
  const Permutation permutation(60000, 3);
  int neighbours = 0;
  for (std::uint64_t i = 0; i + 1 < 60000; ++i) neighbours += permutation(i) + 1 == permutation(i + 1);
  EXPECT_LE(neighbours, 8);  // Poisson with mean 1: more than 8 has probability 1e-6
}

}  // namespace mylos::permutation_test

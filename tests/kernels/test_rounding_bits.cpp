// The random bits of stochastic rounding: a function of (stream, update, element) alone.
#include "mylos/kernels/launch/rounding_bits.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/device_values.hpp"
#include "support/device_views.hpp"

namespace mylos::rounding_bits_test {

/// The bits of elements [first, first + count), drawn by tiles as in the update.
std::vector<std::uint16_t> drawn(const RandomStream& stream, std::uint64_t update, std::int64_t first,
                                 std::int64_t count) {
  const Execution exec;
  const Kokkos::View<std::uint16_t*, Device> result("bits", static_cast<std::size_t>(count));
  std::uint16_t* const out = result.data();
  const RoundingBits bits(stream, update);
  for_each_row(
      exec, "draw bits", 1, KOKKOS_LAMBDA(const std::int64_t, const Row& row) {
        row.for_each_tile(count, [=](const std::int64_t tile, const std::int64_t length) {
          std::uint16_t of_tile[tile_width];
          bits.of_tile(first + tile, length, of_tile);
          for (std::int64_t i = 0; i < length; ++i) out[tile + i] = of_tile[i];
        });
      });
  exec.fence();
  return test::on_host(result);
}

const RandomStream stream(3, RandomPurpose::weight_rounding, "hidden1/weight");

TEST(RoundingBits, OfAnElementAreHalfAWordOfItsBlock) {
  const std::vector<std::uint16_t> bits = drawn(stream, 41, 0, 1000);
  for (std::uint32_t element = 0; element < 1000; ++element) {
    const std::uint32_t word = stream.block(41, 0, element / 8).word[element % 4];
    EXPECT_EQ(bits[element], (element % 8 < 4 ? word : word >> 16) & 0xffffu) << element;
  }
}

TEST(RoundingBits, DoNotDependOnHowAParameterIsCut) {
  const std::vector<std::uint16_t> whole = drawn(stream, 41, 0, 1000);
  for (const std::int64_t first : {8, 32, 264, 512}) {
    for (const std::int64_t count : {1, 7, 300, 488}) {
      const auto begin = whole.begin() + first;
      EXPECT_EQ(drawn(stream, 41, first, count), std::vector<std::uint16_t>(begin, begin + count));
    }
  }
}

TEST(RoundingBits, AreOthersForOtherUpdatesParametersSeedsAndFarElements) {
  const std::vector<std::uint16_t> some = drawn(stream, 41, 0, 256);
  EXPECT_NE(drawn(stream, 42, 0, 256), some);
  EXPECT_NE(drawn({3, RandomPurpose::weight_rounding, "hidden2/weight"}, 41, 0, 256), some);
  EXPECT_NE(drawn({4, RandomPurpose::weight_rounding, "hidden1/weight"}, 41, 0, 256), some);
  EXPECT_NE(drawn(stream, 41, std::int64_t{8} << 32, 256), some);  // the block's number has more than 32 bits
}

TEST(RoundingBits, AreEvenlySpread) {
  constexpr int count = 1 << 16;
  double sum = 0;
  std::vector<int> times(16);  // of each value of the highest four bits
  for (const std::uint16_t bits : drawn(stream, 1, 0, count)) {
    sum += bits;
    ++times[bits >> 12];
  }
  EXPECT_NEAR(sum / count, 32767.5, 5 * 65536 / std::sqrt(12.0 * count));  // five standard deviations
  for (const int often : times) EXPECT_NEAR(often, count / 16.0, 5 * std::sqrt(count / 16.0));
}

}  // namespace mylos::rounding_bits_test

// half and bfloat16 against their definition, computed in exact double arithmetic.
#include "mylos/base/float16.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace mylos::float16_test {

struct HalfFormat {
  using Type = half;
  static constexpr int digits = 11;  // of the significand, the hidden one included
  static constexpr int lowest_exponent = -14;
  static constexpr int bias = 15;
  static constexpr double largest = 65504;
};
struct Bfloat16Format {
  using Type = bfloat16;
  static constexpr int digits = 8;
  static constexpr int lowest_exponent = -126;
  static constexpr int bias = 127;
  static constexpr double largest = 0x1.FEp127;
};

template <class Format>
std::uint16_t bits_of(float value) {
  return std::bit_cast<std::uint16_t>(from_float<typename Format::Type>(value));
}
template <class Format>
float value_of(std::uint16_t bits) {
  return to_float(std::bit_cast<typename Format::Type>(bits));
}

/// Returns the value of a bit pattern, as IEEE 754 defines it.
template <class Format>
double defined_value(std::uint16_t bits) {
  constexpr int fraction_bits = Format::digits - 1;
  const double sign = (bits & 0x8000u) != 0 ? -1.0 : 1.0;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  if (exponent == (0x7fff >> fraction_bits)) {
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, Format::lowest_exponent - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - Format::bias - fraction_bits);
}

/// value rounded to nearest, ties to even, by the definition: a multiple of the quantum of its binade.
template <class Format>
double defined_rounding(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), Format::lowest_exponent);
  const double quantum = std::ldexp(1.0, exponent - (Format::digits - 1));
  const double rounded = std::nearbyint(value / quantum) * quantum;
  return std::abs(rounded) > Format::largest ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                             : rounded;
}

template <class Format>
class Float16 : public testing::Test {};
using Formats = testing::Types<HalfFormat, Bfloat16Format>;
TYPED_TEST_SUITE(Float16, Formats);

TYPED_TEST(Float16, EveryPatternHasItsDefinedValueAndComesBack) {
  for (unsigned pattern = 0; pattern < 65536; ++pattern) {
    const auto bits = static_cast<std::uint16_t>(pattern);
    const double defined = defined_value<TypeParam>(bits);
    const float value = value_of<TypeParam>(bits);
    if (std::isnan(defined)) {
      ASSERT_TRUE(std::isnan(value)) << pattern;
      ASSERT_TRUE(std::isnan(value_of<TypeParam>(bits_of<TypeParam>(value)))) << pattern;
    } else {
      ASSERT_EQ(value, defined) << pattern;
      ASSERT_EQ(std::signbit(value), std::signbit(defined)) << pattern;
      ASSERT_EQ(bits_of<TypeParam>(value), bits) << pattern;
    }
  }
}

TYPED_TEST(Float16, EveryTieGoesToTheEvenNeighbourAndItsNeighboursToTheNearer) {
  const auto infinity_bits = bits_of<TypeParam>(std::numeric_limits<float>::infinity());
  for (unsigned pattern = 0; pattern < infinity_bits; ++pattern) {
    const auto lower = static_cast<std::uint16_t>(pattern);
    const auto upper = static_cast<std::uint16_t>(pattern + 1);
    // Beyond the largest value the grid goes on as if there were one more: from there on it overflows.
    const double step =
        defined_value<TypeParam>(lower) - defined_value<TypeParam>(static_cast<std::uint16_t>(lower - 1));
    const double tie_value = upper == infinity_bits
                                 ? defined_value<TypeParam>(lower) + step / 2
                                 : (defined_value<TypeParam>(lower) + defined_value<TypeParam>(upper)) / 2;
    const auto tie = static_cast<float>(tie_value);
    ASSERT_EQ(static_cast<double>(tie), tie_value);
    ASSERT_EQ(bits_of<TypeParam>(tie), lower % 2 == 0 ? lower : upper) << pattern;
    ASSERT_EQ(bits_of<TypeParam>(std::nextafter(tie, 0.0f)), lower) << pattern;
    ASSERT_EQ(bits_of<TypeParam>(std::nextafter(tie, std::numeric_limits<float>::infinity())), upper)
        << pattern;
    ASSERT_EQ(bits_of<TypeParam>(-tie), bits_of<TypeParam>(tie) | 0x8000u) << pattern;
  }
}

TYPED_TEST(Float16, AMillionFloatsRoundAsDefined) {
  std::mt19937 generator(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
    if (std::isnan(value)) continue;
    const double defined = defined_rounding<TypeParam>(value);
    const float rounded = value_of<TypeParam>(bits_of<TypeParam>(value));
    ASSERT_EQ(rounded, defined) << value;
    ASSERT_EQ(std::signbit(rounded), std::signbit(value)) << value;
  }
}

TYPED_TEST(Float16, EveryNanStaysANan) {
  for (std::uint32_t fraction = 1; fraction < (1u << 23); fraction += fraction < 4096 ? 1 : 4095) {
    ASSERT_TRUE(
        std::isnan(value_of<TypeParam>(bits_of<TypeParam>(std::bit_cast<float>(0x7f800000u | fraction)))));
    ASSERT_TRUE(
        std::isnan(value_of<TypeParam>(bits_of<TypeParam>(std::bit_cast<float>(0xff800000u | fraction)))));
  }
}

TEST(Half, OverflowsAt65520) {
  EXPECT_EQ(to_float(from_float<half>(65519.996f)), 65504.0f);
  EXPECT_EQ(to_float(from_float<half>(65520.0f)), std::numeric_limits<float>::infinity());
}

TEST(Half, KeepsItsSmallestSubnormal) {
  EXPECT_EQ(to_float(from_float<half>(0x1p-24f)), 0x1p-24f);
  EXPECT_EQ(to_float(from_float<half>(0x1p-25f)), 0.0f);
}

TEST(Bfloat16, TheLargestFloatOverflows) {
  EXPECT_EQ(to_float(from_float<bfloat16>(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
}

TEST(Float16Types, TakeTwoBytes) {
  EXPECT_EQ(sizeof(half[100]), 200u);
  EXPECT_EQ(sizeof(bfloat16[100]), 200u);
}

}  // namespace mylos::float16_test

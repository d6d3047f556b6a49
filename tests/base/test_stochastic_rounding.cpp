// Stochastic rounding against its definition, over all 65536 draws of its random bits.
#include "mylos/base/numbers/stochastic_rounding.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace mylos::stochastic_rounding_test {

struct HalfFormat {
  using Type = half;
  static constexpr int digits = 11;  // of the significand, the hidden one included
  static constexpr int lowest_exponent = -14;
  static constexpr double largest = 65504;
  static constexpr double min_exact = 0x1p-17;  // 16 bits make P exact from here on
};
struct Bfloat16Format {
  using Type = bfloat16;
  static constexpr int digits = 8;
  static constexpr int lowest_exponent = -126;
  static constexpr double largest = 0x1.FEp127;
  static constexpr double min_exact = 0;
};

template <class Format>
float rounded(float value, std::uint32_t random) {
  return stochastically_rounded<typename Format::Type>(value, random);
}

/// The spacing of the format's numbers at `value`.
template <class Format>
double step_at(double value) {
  const int exponent = value == 0 ? Format::lowest_exponent : std::ilogb(value);
  return std::ldexp(1.0, std::max(exponent, Format::lowest_exponent) - (Format::digits - 1));
}

/// Numbers of all sizes, of both signs.
template <class Format>
std::vector<float> many_numbers() {
  std::mt19937 random(5);
  std::vector<float> values{1.0f,     1.001f,          -1.001f,    0x1.fffffep0f,
                            0x1p-14f, 0x1.fffffep-15f, 0x1.8p-24f, 0x1p-25f};
  const int span = static_cast<int>(std::log2(Format::largest)) - Format::lowest_exponent + Format::digits;
  for (int i = 0; i < 120; ++i) {
    const int exponent = Format::lowest_exponent - Format::digits + i % span;
    const auto significand = static_cast<float>(1 + static_cast<double>(random()) * 0x1p-32);
    values.push_back(std::ldexp(i % 3 == 0 ? -significand : significand, exponent));
  }
  return values;
}

template <class Format>
class StochasticRounding : public testing::Test {};
using Formats = testing::Types<HalfFormat, Bfloat16Format>;
TYPED_TEST_SUITE(StochasticRounding, Formats);

TYPED_TEST(StochasticRounding, GoesToANeighbourAndKeepsTheMean) {
  for (const float value : many_numbers<TypeParam>()) {
    const auto exact = static_cast<double>(value);
    const double step = step_at<TypeParam>(exact);
    const double down = std::floor(exact / step) * step;
    double sum = 0;
    for (std::uint32_t random = 0; random < 65536; ++random) {
      const auto result = static_cast<double>(rounded<TypeParam>(value, random));
      ASSERT_TRUE(result == down || result == down + step) << value << " became " << result;
      sum += result - down;
    }
    const double mean = down + sum / 65536;
    if (std::abs(exact) >= TypeParam::min_exact) {
      ASSERT_EQ(mean, exact);  // to the last bit, because all terms are multiples of the step
    } else {
      ASSERT_NEAR(mean, exact, step * 0x1p-17) << value;
    }
  }
}

TYPED_TEST(StochasticRounding, LeavesEveryNumberOfTheTypeAsItIs) {
  for (unsigned pattern = 0; pattern < 65536; ++pattern) {
    const float value =
        to_float(std::bit_cast<typename TypeParam::Type>(static_cast<std::uint16_t>(pattern)));
    for (const std::uint32_t random : {0u, 1u, 0x8000u, 0xffffu, 0xdeadffffu}) {
      const float result = rounded<TypeParam>(value, random);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(result));
        continue;
      }
      ASSERT_EQ(std::bit_cast<std::uint32_t>(result), std::bit_cast<std::uint32_t>(value)) << value;
    }
  }
}

TYPED_TEST(StochasticRounding, IsOverNumbersThatTheTypeHolds) {
  for (const float value : many_numbers<TypeParam>()) {
    for (std::uint32_t random = 0; random < 65536; random += 97) {
      const float result = rounded<TypeParam>(value, random);
      ASSERT_EQ(to_float(from_float<typename TypeParam::Type>(result)), result) << value;
    }
  }
}

TYPED_TEST(StochasticRounding, ReadsSixteenBitsOnly) {
  for (const float value : many_numbers<TypeParam>())
    for (const std::uint32_t random : {0u, 77u, 0xffffu})
      ASSERT_EQ(rounded<TypeParam>(value, random), rounded<TypeParam>(value, random | 0xabcd0000u));
}

TYPED_TEST(StochasticRounding, EndsAtTheLargestNumber) {
  constexpr auto largest = static_cast<float>(TypeParam::largest);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float past =
      std::nextafter(static_cast<float>(TypeParam::largest + step_at<TypeParam>(TypeParam::largest)), 0.0f);
  for (const std::uint32_t random : {0u, 0x7fffu, 0xffffu}) {
    for (const float sign : {1.0f, -1.0f}) {
      EXPECT_EQ(rounded<TypeParam>(sign * std::nextafter(largest, infinity), random), sign * largest);
      EXPECT_EQ(rounded<TypeParam>(sign * std::min(past, std::numeric_limits<float>::max()), random),
                sign * largest);
      EXPECT_EQ(rounded<TypeParam>(sign * infinity, random), sign * infinity);
    }
    EXPECT_TRUE(std::isnan(rounded<TypeParam>(std::bit_cast<float>(0x7fffffffu), random)));
    EXPECT_TRUE(std::isnan(rounded<TypeParam>(std::bit_cast<float>(0xff800001u), random)));
  }
}

TEST(StochasticRoundingToHalf, MakesInfinityOfWhatIsAWholeStepBeyond) {
  for (const float value : {65536.0f, 1e6f, 3e38f}) {
    const half result = from_float<half>(stochastically_rounded<half>(-value, 0));
    EXPECT_EQ(to_float(result), -std::numeric_limits<float>::infinity());
  }
}

}  // namespace mylos::stochastic_rounding_test

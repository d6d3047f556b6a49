// The predicted effect of conversions equals the actual one: here every number is rounded individually, in
// double.
#include "mylos/precision/conversion_safety.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "mylos/base/error.hpp"

namespace mylos::conversion_safety_test {

constexpr DType all_targets[] = {DType::fp32, DType::bf16, DType::fp16};

/// Rounds to nearest even by scaling the number until its last digit in the type is a unit.
double rounded(double value, const FloatLimits& limits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int last = std::max(std::ilogb(value), limits.min_exponent) - limits.layout.fraction_bits;
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  return std::fabs(nearest) > limits.largest ? std::copysign(INFINITY, value) : nearest;
}

double number(float value) {
  return static_cast<double>(value);
}
double number(double value) {
  return value;
}
double number(half value) {
  return static_cast<double>(to_float(value));
}
double number(bfloat16 value) {
  return static_cast<double>(to_float(value));
}

template <class T>
void expect_counted(const std::vector<T>& values, const std::string& what) {
  const ConversionSafety found = conversion_safety(std::span<const T>(values));
  std::int64_t zeros = 0, nans = 0, infinities = 0;
  std::map<int, std::int64_t> exponents;
  for (const T element : values) {
    const double value = number(element);
    zeros += value == 0;
    nans += std::isnan(value);
    infinities += std::isinf(value);
    if (std::isfinite(value) && value != 0) ++exponents[std::ilogb(value)];
  }
  EXPECT_EQ(found.values, static_cast<std::int64_t>(values.size())) << what;
  EXPECT_EQ(found.zeros, zeros) << what;
  EXPECT_EQ(found.nans, nans) << what;
  EXPECT_EQ(found.infinities, infinities) << what;
  std::map<int, std::int64_t> counted;
  for (const auto& [exponent, count] : found.exponents()) {
    if (count > 0) counted[exponent] = count;
  }
  EXPECT_EQ(counted, exponents) << what;
  for (const DType type : all_targets) {
    const FloatLimits limits = limits_of(type);
    ConversionCounts expected;
    for (const T element : values) {
      const double value = number(element);
      const double result = rounded(value, limits);
      if (!std::isfinite(value) || value == 0) continue;
      if (std::isinf(result)) {
        ++expected.overflows;
        continue;
      }
      ++expected.judged;
      expected.to_zero += result == 0;
      expected.subnormal += result != 0 && std::fabs(result) < limits.smallest_normal;
      const double error = std::fabs((result - value) / value);
      expected.error_sum += error;
      expected.largest_error = std::max(expected.largest_error, error);
    }
    const ConversionCounts& counts = found.to(type);
    const std::string where = what + " to " + std::string(name_of(type));
    EXPECT_EQ(counts.overflows, expected.overflows) << where;
    EXPECT_EQ(counts.to_zero, expected.to_zero) << where;
    EXPECT_EQ(counts.subnormal, expected.subnormal) << where;
    EXPECT_EQ(counts.judged, expected.judged) << where;
    EXPECT_NEAR(counts.largest_error, expected.largest_error, 1e-6 * expected.largest_error) << where;
    EXPECT_NEAR(counts.mean_error(), expected.mean_error(), 4e-6 * expected.mean_error()) << where;
  }
}

/// Numbers of every sign and exponent, with fractions at and near the midpoint between two numbers of
/// narrower types.
template <class T, class Bits>
std::vector<T> edges() {
  const FloatLayout layout = layout_of(dtype_of<T>);
  std::vector<T> values;
  for (Bits field = 0; field < Bits{1} << (layout.exponent_bits + 1); ++field) {  // with the sign
    for (int first = 0; first <= layout.fraction_bits; ++first) {
      for (const int ones : {0, 1, 2, 7, 8, 10, 11}) {
        if (first + ones > layout.fraction_bits) continue;
        const Bits fraction = ((Bits{1} << ones) - 1) << first;
        for (const Bits near : {Bits{0}, Bits{1}, ~Bits{0}})
          values.push_back(std::bit_cast<T>((field << layout.fraction_bits) + fraction + near));
      }
    }
  }
  return values;
}

TEST(ConversionSafety, CountsEveryEdgeOfFloatAndDouble) {
  expect_counted(edges<float, std::uint32_t>(), "float");
  expect_counted(edges<double, std::uint64_t>(), "double");
}

TEST(ConversionSafety, CountsEveryNumberOfTheSixteenBitTypes) {
  std::vector<half> halves;
  std::vector<bfloat16> bfloats;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    halves.push_back(std::bit_cast<half>(static_cast<std::uint16_t>(bits)));
    bfloats.push_back(std::bit_cast<bfloat16>(static_cast<std::uint16_t>(bits)));
  }
  expect_counted(halves, "fp16");
  expect_counted(bfloats, "bf16");
}

std::vector<float> normal_numbers(std::size_t count, float width) {
  std::mt19937 generator(11);
  std::normal_distribution<float> distribution(0, width);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

TEST(ConversionSafety, CountsArraysOfAnyLength) {
  const std::vector<std::size_t> lengths = {0, 1, 3, 15, 2047, 2048, 2049, 65536, 200003};
  for (const std::size_t length : lengths)
    expect_counted(normal_numbers(length, 1e-5f), std::to_string(length) + " numbers");
}

TEST(ConversionSafety, OfPartsIsThatOfTheWhole) {
  constexpr std::size_t block = 65536;
  const std::vector<float> values = normal_numbers(5 * block + 17, 1e-3f);
  const ConversionSafety whole = conversion_safety(std::span<const float>(values));
  ConversionSafety sum;
  for (std::size_t first = 0; first < values.size(); first += block) {
    const auto part = std::span(values).subspan(first, std::min(block, values.size() - first));
    sum += conversion_safety(std::span<const float>(part));
  }
  EXPECT_EQ(sum.values, whole.values);
  for (const DType type : all_targets) {
    EXPECT_EQ(sum.to(type).subnormal, whole.to(type).subnormal);
    EXPECT_EQ(sum.to(type).error_sum, whole.to(type).error_sum) << "whatever threads there are";
    EXPECT_EQ(sum.to(type).largest_error, whole.to(type).largest_error);
  }
}

Verdict verdict_of(const std::vector<float>& values, DType type) {
  return conversion_safety(std::span<const float>(values)).to(type).verdict();
}

TEST(ConversionSafety, JudgesByTheShareThatIsLost) {
  std::vector<float> values(1000, 1.0f);
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::safe);
  values[0] = 0;  // not counted as a loss
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::safe);
  std::fill_n(values.begin(), 9, 1e-6f);  // subnormal in half: below 1 %
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::safe);
  std::fill_n(values.begin(), 11, 1e-6f);
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::lossy);
  std::fill_n(values.begin(), 10, 1e-9f);  // become zero: 1 %
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::lossy);
  values[11] = 1e-9f;
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::unsafe);
  EXPECT_EQ(verdict_of(values, DType::bf16), Verdict::safe);
  values.assign(1000, 1.0f);
  values[999] = 65519;
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::safe);
  values[999] = 65520;
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::unsafe);
  values[999] =
      std::numeric_limits<float>::infinity();  // infinite before the conversion: not counted as a loss
  EXPECT_EQ(verdict_of(values, DType::fp16), Verdict::safe);
  EXPECT_EQ(verdict_of({}, DType::fp16), Verdict::safe);
}

TEST(ConversionSafety, IsRefusedForATypeThatNothingIsConvertedTo) {
  EXPECT_THROW((void)ConversionSafety().to(DType::fp64), Error);
}

}  // namespace mylos::conversion_safety_test

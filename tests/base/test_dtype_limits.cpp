// Limits of floating-point types: those of the compiler and of the standards' tables.
#include "mylos/base/dtype_limits.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"

namespace mylos::dtype_limits_test {

static_assert(limits_of(DType::fp16).largest == 65504, "known at compile time");

template <class T>
void expect_limits_of_compiler(DType type) {
  using Compiler = std::numeric_limits<T>;
  const FloatLimits limits = limits_of(type);
  EXPECT_EQ(limits.bits, static_cast<int>(8 * sizeof(T)));
  EXPECT_EQ(limits.binary_digits, Compiler::digits);
  EXPECT_EQ(limits.decimal_digits, Compiler::digits10);
  EXPECT_EQ(limits.min_exponent, Compiler::min_exponent - 1);  // the compiler's numbers are 0.1fraction
  EXPECT_EQ(limits.max_exponent, Compiler::max_exponent - 1);
  EXPECT_EQ(limits.largest, static_cast<double>(Compiler::max()));
  EXPECT_EQ(limits.smallest_normal, static_cast<double>(Compiler::min()));
  EXPECT_EQ(limits.smallest_subnormal, static_cast<double>(Compiler::denorm_min()));
  EXPECT_EQ(limits.epsilon, static_cast<double>(Compiler::epsilon()));
}

TEST(DTypeLimits, OfFloatAndDoubleAreTheCompilers) {
  expect_limits_of_compiler<float>(DType::fp32);
  expect_limits_of_compiler<double>(DType::fp64);
}

// IEEE 754-2019, table 3.5 and what follows from it; BFLOAT16 - Hardware Numerics Definition, Intel 2018.
TEST(DTypeLimits, OfHalfAndBfloat16ArePublished) {
  const FloatLimits half_limits = limits_of(DType::fp16);
  EXPECT_EQ(half_limits.largest, 65504);
  EXPECT_EQ(half_limits.smallest_normal, 6.103515625e-05);
  EXPECT_EQ(half_limits.smallest_subnormal, 5.9604644775390625e-08);
  EXPECT_EQ(half_limits.epsilon, 9.765625e-04);
  EXPECT_EQ(half_limits.binary_digits, 11);
  EXPECT_EQ(half_limits.decimal_digits, 3);
  const FloatLimits bfloat_limits = limits_of(DType::bf16);
  EXPECT_EQ(bfloat_limits.largest, std::ldexp(255, 120));
  EXPECT_NEAR(bfloat_limits.largest, 3.38953139e38, 1e30);
  EXPECT_EQ(bfloat_limits.smallest_normal, static_cast<double>(std::numeric_limits<float>::min()));
  EXPECT_EQ(bfloat_limits.smallest_subnormal, std::ldexp(1, -133));
  EXPECT_EQ(bfloat_limits.epsilon, 7.8125e-03);
  EXPECT_EQ(bfloat_limits.binary_digits, 8);
  EXPECT_EQ(bfloat_limits.decimal_digits, 2);
}

/// The number that the storage type has for these bits.
template <class T>
double value_of(unsigned bits) {
  return static_cast<double>(to_float(std::bit_cast<T>(static_cast<std::uint16_t>(bits))));
}

TEST(DTypeLimits, AreTheNumbersThatTheStorageTypesHold) {
  const auto expect_numbers = []<class T>(TypeTag<T>) {
    const FloatLimits limits = limits_of(dtype_of<T>);
    const auto fraction = static_cast<unsigned>(limits.layout.fraction_bits);
    const unsigned infinity = ((1u << limits.layout.exponent_bits) - 1) << fraction;
    EXPECT_TRUE(std::isinf(value_of<T>(infinity)));
    EXPECT_EQ(value_of<T>(infinity - 1), limits.largest);
    EXPECT_EQ(value_of<T>(1u << fraction), limits.smallest_normal);
    EXPECT_EQ(value_of<T>(1), limits.smallest_subnormal);
    const unsigned one = static_cast<unsigned>(limits.max_exponent) << fraction;
    EXPECT_EQ(value_of<T>(one), 1);
    EXPECT_EQ(value_of<T>(one + 1) - 1, limits.epsilon);
    EXPECT_EQ(unit_roundoff<T>, limits.epsilon / 2);
  };
  expect_numbers(TypeTag<half>{});
  expect_numbers(TypeTag<bfloat16>{});
}

TEST(DTypeLimits, AreRefusedForWholeNumbers) {
  for (const DType type : {DType::int32, DType::uint8, DType::uint64})
    EXPECT_THROW((void)limits_of(type), Error);
}

}  // namespace mylos::dtype_limits_test

// Bulk conversion has the bits of scalar conversion for any length and alignment.
#include "mylos/kernels/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/matrix.hpp"
#include "mylos/base/error.hpp"

namespace mylos::convert_test {

/// Bytes of `from` converted element by element with the scalar functions.
std::vector<std::byte> converted_one_by_one(const Tensor& from, DType to) {
  return dispatch(from.type(), [&]<class From>(TypeTag<From>) {
    return dispatch(to, [&]<class To>(TypeTag<To>) {
      const std::vector<std::byte> source = test::bytes_of(from);
      std::vector<std::byte> target;
      for (std::size_t at = 0; at < source.size(); at += sizeof(From)) {
        From element;
        std::memcpy(&element, source.data() + at, sizeof(From));
        const To value = [&] {
          if constexpr (std::is_same_v<From, To>) {
            return element;
          } else {
            return from_float<To>(to_float(element));
          }
        }();
        const auto* bytes = reinterpret_cast<const std::byte*>(&value);
        target.insert(target.end(), bytes, bytes + sizeof(To));
      }
      return target;
    });
  });
}

/// Fills a tensor with random bits, which include subnormals, infinities and NaNs.
void set_random_bits(const Tensor& tensor, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint32_t> words(tensor.bytes() / 4 + 1);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(generator());
  test::copy_to_device(words.data(), tensor.data(), tensor.bytes());
}

/// `count` elements of an arena, starting `offset` elements after an aligned address.
Tensor window(const Arena& arena, DType type, std::int64_t offset, std::int64_t count) {
  return {arena.data() + static_cast<std::size_t>(offset) * size_of(type), type, 1, count};
}

/// Calls `check` with every number of the 16-bit types and room for them in each type.
void with_every_pattern(const std::function<void(const Tensor& source, const Tensor& target)>& check) {
  std::vector<std::uint16_t> patterns(65536);
  for (unsigned i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  for (const DType from : {DType::fp16, DType::bf16}) {
    const test::Matrix source(from, 1, 65536);
    test::copy_to_device(patterns.data(), source.tensor().data(), source.tensor().bytes());
    for (const DType to : test::all_types) check(source, test::Matrix(to, 1, 65536));
  }
}

TEST(Convert, EveryPatternOfTheSixteenBitTypesGivesTheScalarBits) {
  with_every_pattern([](const Tensor& source, const Tensor& target) {
    convert(Execution{}, source, target);
    Execution{}.fence();
    EXPECT_EQ(test::bytes_of(target), converted_one_by_one(source, target.type()))
        << name_of(source.type()) << " to " << name_of(target.type());
  });
}

TEST(Convert, EveryLengthAndAlignmentGivesTheScalarBitsAndTouchesNothingElse) {
  const Arena from_arena("from", 1024);
  const Arena to_arena("to", 1024);
  const Tensor everything(to_arena.data(), DType::fp32, 1, 256);
  for (const DType from : test::all_types) {
    for (const DType to : test::all_types) {
      for (const std::int64_t offset : {0, 1, 3, 16, 31}) {
        for (const std::int64_t length : {1, 15, 16, 33, 69}) {
          const Tensor source = window(from_arena, from, (offset * 7) % 33, length);
          const Tensor target = window(to_arena, to, offset, length);
          set_random_bits(source, static_cast<unsigned>(offset * 100 + length));
          set_random_bits(everything, 1);
          auto expected = test::bytes_of(everything);
          const auto result = converted_one_by_one(source, to);
          std::copy(
              result.begin(), result.end(),
              expected.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(offset) * size_of(to)));
          convert(Execution{}, source, target);
          Execution{}.fence();
          ASSERT_EQ(test::bytes_of(everything), expected)
              << name_of(from) << " to " << name_of(to) << " " << offset;
        }
      }
    }
  }
}

TEST(Convert, LargeTensorsThatAreStreamedGiveTheScalarBits) {
  constexpr std::int64_t count = (std::int64_t{4} << 20) + 77;
  const Arena from_arena("from", 4 * (count + 64));
  const Arena to_arena("to", 4 * (count + 64));
  for (const DType from : test::all_types) {
    const Tensor source = window(from_arena, from, 5, count);
    set_random_bits(source, 3);
    for (const DType to : test::all_types) {
      const Tensor target = window(to_arena, to, 11, count);
      convert(Execution{}, source, target);
      EXPECT_TRUE(test::bytes_of(target) == converted_one_by_one(source, to))
          << name_of(from) << " to " << name_of(to);
    }
  }
}

/// The largest finite number in place of infinity, which lies one above it in the order of bits.
template <class T>
T finite_or_nan(T value) {
  if (!std::isinf(to_float(value))) return value;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
  return std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(value) - 1));
}

/// Returns the bytes of the plain conversion, without infinity.
std::vector<std::byte> saturated_one_by_one(const Tensor& from, DType to) {
  std::vector<std::byte> target = converted_one_by_one(from, to);
  dispatch(to, [&]<class To>(TypeTag<To>) {
    for (std::size_t at = 0; at < target.size(); at += sizeof(To)) {
      To element;
      std::memcpy(&element, target.data() + at, sizeof(To));
      element = finite_or_nan(element);
      std::memcpy(target.data() + at, &element, sizeof(To));
    }
  });
  return target;
}

/// The minimum of two numbers on a device keeps NaN, but not its payload.
std::vector<std::byte> without_payloads(std::vector<std::byte> bytes, DType type) {
  if constexpr (memory_is_host) return bytes;
  dispatch(type, [&]<class T>(TypeTag<T>) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T element;
      std::memcpy(&element, bytes.data() + at, sizeof(T));
      if (std::isnan(to_float(element))) std::memset(bytes.data() + at, 0xff, sizeof(T));
    }
  });
  return bytes;
}

void expect_saturated(const Tensor& source, const Tensor& target, const std::string& what) {
  convert(Execution{}, source, target, Overflow::saturate);
  Execution{}.fence();
  EXPECT_TRUE(without_payloads(test::bytes_of(target), target.type()) ==
              without_payloads(saturated_one_by_one(source, target.type()), target.type()))
      << what << ", " << name_of(source.type()) << " to " << name_of(target.type());
}

TEST(SaturatingConvert, LeavesNoInfinityOfAnyPatternOfTheSixteenBitTypes) {
  with_every_pattern(
      [](const Tensor& source, const Tensor& target) { expect_saturated(source, target, "every pattern"); });
}

TEST(SaturatingConvert, MakesTheLargestNumberOfWhatIsBeyondItAndKeepsNaN) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {65504,    65519.996f, 65520, 65536,     1e30f,
                                     infinity, -65520,     -1e9f, -infinity, std::nanf("")};
  const test::Matrix source(DType::fp32, 1, static_cast<std::int64_t>(values.size()));
  test::copy_to_device(values.data(), source.tensor().data(), source.tensor().bytes());
  const test::Matrix target(DType::fp16, 1, source.tensor().columns());
  convert(Execution{}, source, target, Overflow::saturate);
  const std::vector<float> found = target.values();
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(found[i], 65504) << values[i];
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(found[i], -65504) << values[i];
  EXPECT_TRUE(std::isnan(found[9]));
}

TEST(SaturatingConvert, HasNoInfinityAroundTheEdgesOfFloatInAnyType) {
  std::vector<std::uint32_t> bits;
  for (const std::uint32_t edge :
       {0x00000000u, 0x00008000u, 0x007f8000u, 0x00800000u, 0x33000000u, 0x38800000u, 0x477fe000u,
        0x477ff000u, 0x47800000u, 0x7f7f0000u, 0x7f7f8000u, 0x7f800000u, 0x7fc00000u, 0x7ffffff0u}) {
    for (std::uint32_t near = 0; near < 16; ++near) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) bits.push_back((edge + near - 8) ^ sign);
    }
  }
  const test::Matrix source(DType::fp32, 1, static_cast<std::int64_t>(bits.size()));
  test::copy_to_device(bits.data(), source.tensor().data(), source.tensor().bytes());
  for (const DType to : test::all_types) {
    const test::Matrix target(to, 1, source.tensor().columns());
    expect_saturated(source, target, "edges");
  }
}

TEST(SaturatingConvert, IsTheSameForLargeTensorsThatAreStreamed) {
  constexpr std::int64_t count = (std::int64_t{4} << 20) + 77;
  const Arena from_arena("from", 4 * (count + 64));
  const Arena to_arena("to", 4 * (count + 64));
  for (const DType from : test::all_types) {
    const Tensor source = window(from_arena, from, 5, count);
    set_random_bits(source, 3);
    for (const DType to : test::all_types)
      expect_saturated(source, window(to_arena, to, 11, count), "streamed");
  }
}

TEST(Convert, RefusesTensorsOfDifferentSizes) {
  const test::Matrix from(DType::fp32, 2, 3);
  const test::Matrix to(DType::fp16, 2, 4);
  EXPECT_THROW(convert(Execution{}, from, to), Error);
}

TEST(Fill, WritesTheRoundedValueEverywhere) {
  for (const DType type : test::all_types) {
    const test::Matrix tensor(type, 3, 1001);
    fill(Execution{}, tensor, 0.1f);
    EXPECT_EQ(tensor.values(), std::vector<float>(3003, test::rounded_to(type, 0.1f)));
  }
}

}  // namespace mylos::convert_test

// Bulk conversion gives the bits of the scalar conversion, whatever the length and the alignment.
#include "mylos/kernels/convert.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "kernels/matrix.hpp"

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

/// Fills a tensor with bits of every kind: subnormals, infinities and NaNs are among them.
void set_random_bits(const Tensor& tensor, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<std::uint32_t> words(tensor.bytes() / 4 + 1);
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(generator());
  test::copy_to_device(words.data(), tensor.data(), tensor.bytes());
}

/// `count` elements of an arena that start `offset` elements behind an aligned address.
Tensor window(const Arena& arena, DType type, std::int64_t offset, std::int64_t count) {
  return {arena.data() + static_cast<std::size_t>(offset) * size_of(type), type, 1, count};
}

TEST(Convert, EveryPatternOfTheSixteenBitTypesGivesTheScalarBits) {
  std::vector<std::uint16_t> patterns(65536);
  for (unsigned i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  for (const DType from : {DType::fp16, DType::bf16}) {
    const test::Matrix source(from, 1, 65536);
    test::copy_to_device(patterns.data(), source.tensor().data(), source.tensor().bytes());
    for (const DType to : test::all_types) {
      const test::Matrix target(to, 1, 65536);
      convert(Execution{}, source, target);
      EXPECT_EQ(target.bytes(), converted_one_by_one(source, to)) << name_of(from) << " to " << name_of(to);
    }
  }
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

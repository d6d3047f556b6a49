// Arenas and the tensors that are cut from them.
#include "mylos/base/arena.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/device_values.hpp"

namespace mylos::arena_test {

TEST(Arena, StartsWithZeros) {
  const Arena arena("test", 4096);
  for (const float value : test::values_of(arena.tensor(0, DType::fp32, 32, 32))) EXPECT_EQ(value, 0.0f);
}

TEST(Arena, OfManyPagesStartsWithZeros) {
  const Arena arena("test", (std::size_t{9} << 20) + 64);  // larger than the pages that are asked for
  const auto values = test::values_of(arena.tensor(64, DType::fp32, 9, 1 << 18));
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), 9 << 18);
}

TEST(Arena, BytesRoundUpToTheAlignment) {
  EXPECT_EQ(aligned_bytes(0), 0u);
  EXPECT_EQ(aligned_bytes(1), arena_alignment);
  EXPECT_EQ(aligned_bytes(arena_alignment), arena_alignment);
  EXPECT_EQ(aligned_bytes(arena_alignment + 1), 2 * arena_alignment);
}

TEST(Arena, TensorsAtDifferentOffsetsDoNotTouchEachOther) {
  const Arena arena("test", 256);
  const Tensor first = arena.tensor(0, DType::fp16, 1, 32);
  const Tensor second = arena.tensor(64, DType::fp32, 1, 16);
  test::set_values(first, std::vector<float>(32, 1.0f));
  test::set_values(second, std::vector<float>(16, 2.0f));
  EXPECT_EQ(test::values_of(first), std::vector<float>(32, 1.0f));
  EXPECT_EQ(test::values_of(second), std::vector<float>(16, 2.0f));
}

TEST(Arena, RefusesATensorThatDoesNotFit) {
  const Arena arena("test", 128);
  EXPECT_NO_THROW((void)arena.tensor(64, DType::fp16, 2, 16));
  EXPECT_THROW((void)arena.tensor(64, DType::fp16, 3, 11), Error);
  EXPECT_THROW((void)arena.tensor(128, DType::fp32, 1, 1), Error);
}

TEST(Arena, RefusesAnOffsetThatIsNotAligned) {
  const Arena arena("test", 128);
  EXPECT_THROW((void)arena.tensor(2, DType::fp16, 1, 1), Error);
}

TEST(Tensor, RefusesToBeReadAsAnotherType) {
  const Arena arena("test", 128);
  const Tensor tensor = arena.tensor(0, DType::bf16, 2, 4);
  EXPECT_NO_THROW((void)tensor.as<bfloat16>());
  EXPECT_THROW((void)tensor.as<half>(), Error);
  EXPECT_THROW((void)tensor.as<float>(), Error);
}

TEST(Tensor, RowRangeIsAWindowOntoTheSameElements) {
  const Arena arena("test", 128);
  const Tensor tensor = arena.tensor(0, DType::fp16, 3, 2);
  test::set_values(tensor, {1, 2, 3, 4, 5, 6});
  const Tensor rows = tensor.row_range(1, 2);
  EXPECT_EQ(rows.rows(), 2);
  EXPECT_EQ(test::values_of(rows), (std::vector<float>{3, 4, 5, 6}));
}

}  // namespace mylos::arena_test

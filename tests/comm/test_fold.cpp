// The sum over ranks: the float sum by the binary tree, rounded once, with the same bits on the calling
// thread, in kernels, and as a device thread computes it, which is called here on a host.
#include "mylos/comm/group/fold.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "comm/rounded.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/comm/group/slice_sum.hpp"
#include "support/tree.hpp"

namespace mylos::fold_test {

constexpr int ranks = 3;

/// Slices of all ranks, concatenated.
template <class T>
std::vector<T> parts_of(std::size_t count) {
  std::vector<T> parts;
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < count; ++i)
      parts.push_back(static_cast<T>(from_float<T>(test::contribution(rank, i))));
  }
  return parts;
}

template <class T>
void compare(std::size_t count, Reduction reduction) {
  const Execution exec;
  const std::vector<T> parts = parts_of<T>(count);
  std::vector<T> by_kernels(count);
  std::vector<T> by_thread(count);
  fold_in_rank_order(&exec, parts.data(), ranks, count, dtype_of<T>, reduction, 1.0f / 3, by_kernels.data());
  fold_in_rank_order(nullptr, parts.data(), ranks, count, dtype_of<T>, reduction, 1.0f / 3, by_thread.data());
  exec.fence();
  EXPECT_EQ(std::memcmp(by_kernels.data(), by_thread.data(), count * sizeof(T)), 0)
      << count << " " << name_of(dtype_of<T>);
}

TEST(Fold, AThreadAloneGivesTheBitsOfKernels) {
  if (!memory_is_host) GTEST_SKIP() << "kernels of a device do not reach these numbers";
  for (const std::size_t count : {1u, 31u, 256u, 1000u, 70001u}) {
    for (const Reduction reduction : {Reduction::sum, Reduction::max}) {
      compare<float>(count, reduction);
      compare<half>(count, reduction);
      compare<bfloat16>(count, reduction);
    }
  }
}

/// The bits of factor × the float sum over ranks by the tree, rounded once.
template <class T>
std::vector<float> tree_sums(int world, std::size_t count, float factor) {
  std::vector<float> sums;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part_of = [i](int rank) { return test::rounded<T>(test::contribution(rank, i)); };
    sums.push_back(test::rounded<T>(factor * test::sum_by_tree<float>(0, world, part_of)));
  }
  return sums;
}

template <class T>
std::vector<float> floats_of(const std::vector<T>& values) {
  std::vector<float> floats;
  for (const T value : values) floats.push_back(to_float(value));
  return floats;
}

/// The slices of all ranks, as they lie on one that has received the others'.
template <class T>
struct Received {
  Received(int world, int rank, std::size_t count) : own(count) {
    for (int other = 0; other < world; ++other) {
      for (std::size_t i = 0; i < count; ++i) {
        const T value = from_float<T>(test::contribution(other, i));
        if (other == rank) own[i] = value;
        if (other != rank) others.push_back(value);
      }
    }
  }
  std::vector<T> own;
  std::vector<T> others;
};

template <class T>
void expect_tree_sums(int world, int rank, std::size_t count) {
  constexpr float factor = 1.0f / 3;
  const std::vector<float> expected = tree_sums<T>(world, count, factor);
  const Execution exec;
  for (const Execution* kernels : {static_cast<const Execution*>(nullptr), &exec}) {
    Received<T> slices(world, rank, count);
    const CommunicationBuffer own{slices.own.data(), count, dtype_of<T>};
    fold_with_own(kernels, own, rank, slices.others.data(), world, factor, own.data);
    exec.fence();
    EXPECT_EQ(floats_of(slices.own), expected) << world << " " << name_of(dtype_of<T>);
  }
}

/// As a device computes it.
template <class T>
void expect_tree_sums_in_registers(int world, int rank, std::size_t count) {
  constexpr float factor = 1.0f / 3;
  Received<T> slices(world, rank, count);
  const SliceSum<T> sum{
      {slices.others.data(), slices.own.data(), rank, count}, world, factor, slices.own.data()};
  ASSERT_TRUE(sum.is_aligned());
  for (std::size_t index = 0; index < count / SliceSum<T>::width; ++index) sum(index);
  EXPECT_EQ(floats_of(slices.own), tree_sums<T>(world, count, factor))
      << world << " " << name_of(dtype_of<T>);
}

TEST(Fold, SlicesOfAllRanksBecomeTheFloatSumRoundedOnce) {
  if (!memory_is_host) GTEST_SKIP() << "kernels of a device do not reach these numbers";
  for (const int world : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 100}) {
    for (const int rank : {0, world / 2, world - 1}) {
      expect_tree_sums<half>(world, rank, 96);
      expect_tree_sums<bfloat16>(world, rank, 96);
      expect_tree_sums<bfloat16>(world, rank, 37);  // not aligned
      expect_tree_sums<float>(world, rank, 96);
      expect_tree_sums_in_registers<half>(world, rank, 96);
      expect_tree_sums_in_registers<bfloat16>(world, rank, 96);
      expect_tree_sums_in_registers<float>(world, rank, 96);
    }
  }
}

TEST(Fold, DoublesAreSummedInDouble) {
  if (!memory_is_host) GTEST_SKIP() << "kernels of a device do not reach these numbers";
  const auto part = [](int rank) { return 1e9 * test::contribution(rank, 1) + test::contribution(rank, 2); };
  const Execution exec;
  for (const int world : {2, 3, 6}) {
    for (int rank = 0; rank < world; ++rank) {
      std::vector<double> own(3, part(rank));
      std::vector<double> others;
      for (int other = 0; other < world; ++other)
        if (other != rank) others.insert(others.end(), 3, part(other));
      fold_with_own(&exec, {own.data(), 3, DType::fp64}, rank, others.data(), world, 1, own.data());
      exec.fence();
      EXPECT_EQ(own, std::vector<double>(3, test::sum_by_tree<double>(0, world, part)));
    }
  }
}

/// Sums that a rounding at each hop gets wrong: 256 + 1 + 1 is 258 in bfloat16, but 256 if 257 is rounded
/// first.
TEST(Fold, ASumOfThreeRanksIsNotRoundedBetweenRanks) {
  std::vector<bfloat16> own(8, from_float<bfloat16>(256));
  const std::vector<bfloat16> others(16, from_float<bfloat16>(1));
  const SliceSum<bfloat16> sum{{others.data(), own.data(), 0, 8}, 3, 1, own.data()};
  sum(0);
  EXPECT_EQ(floats_of(own), std::vector<float>(8, 258));
}

TEST(Fold, SlicesThatAccessesOf16BytesCannotReadAreRecognised) {
  const std::vector<bfloat16> values(64);
  std::vector<bfloat16> out(64);
  const auto is_aligned = [&](std::size_t first, std::size_t count) {
    const RankSlices<bfloat16> slices{values.data() + first, values.data(), 0, count};
    return SliceSum<bfloat16>{slices, 2, 1, out.data()}.is_aligned();
  };
  EXPECT_TRUE(is_aligned(0, 16));
  EXPECT_TRUE(is_aligned(8, 16));
  EXPECT_FALSE(is_aligned(4, 16));
  EXPECT_FALSE(is_aligned(0, 12));
}

TEST(Fold, ASliceIsRoundedToTheTypeThatItIsConvertedTo) {
  if (!memory_is_host) GTEST_SKIP() << "kernels of a device do not reach these numbers";
  constexpr std::size_t count = 5;
  std::vector<float> values{1.0f, 1.0f + 0x1p-9f, 1.0f + 0x1.8p-8f, 65520.0f, 1e-7f};
  std::vector<half> halves(count);
  std::vector<bfloat16> shorts(count);
  const Execution exec;
  for (const Execution* kernels : {static_cast<const Execution*>(nullptr), &exec}) {
    convert_slice(kernels, {values.data(), count, DType::fp32}, {halves.data(), count, DType::fp16});
    convert_slice(kernels, {values.data(), count, DType::fp32}, {shorts.data(), count, DType::bf16});
    exec.fence();
    const float infinity = std::numeric_limits<float>::infinity();
    const float as_half[] = {1.0f, 1.0f + 0x1p-9f, 1.0f + 0x1.8p-8f, infinity, 0x1p-23f};
    const float as_bfloat16[] = {1.0f, 1.0f, 1.0f + 0x1p-7f, 65536.0f, 0x1.aep-24f};
    std::vector<float> back(count);
    convert_slice(kernels, {halves.data(), count, DType::fp16}, {back.data(), count, DType::fp32});
    exec.fence();
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(back[i], as_half[i]) << i;
      EXPECT_EQ(to_float(shorts[i]), as_bfloat16[i]) << i;
    }
  }
}

}  // namespace mylos::fold_test

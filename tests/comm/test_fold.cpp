// The sum over ranks has the same bits on the calling thread and in kernels.
#include "mylos/comm/group/fold.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "comm/communicator_builders.hpp"
#include "mylos/base/dispatch.hpp"

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

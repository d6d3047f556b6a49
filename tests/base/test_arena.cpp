// Arenas and the tensors at their offsets.
#include "mylos/base/device/arena.hpp"
#include "mylos/base/dispatch.hpp"

#include <gtest/gtest.h>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mylos/base/error.hpp"
#include "support/device_values.hpp"

namespace mylos::arena_test {

TEST(Arena, StartsWithZeros) {
  const Arena arena("test", 4096);
  for (const float value : test::values_of(arena.tensor(0, DType::fp32, 32, 32))) EXPECT_EQ(value, 0.0f);
}

TEST(Arena, OfManyPagesStartsWithZeros) {
  // Larger than the huge pages that are requested.
  const Arena arena("test", (std::size_t{9} << 20) + arena_alignment);
  const auto values = test::values_of(arena.tensor(arena_alignment, DType::fp32, 9, 1 << 18));
  EXPECT_EQ(std::count(values.begin(), values.end(), 0.0f), 9 << 18);
}

TEST(Arena, StartsWhereWorkspacesOfCublasLtMay) {
  std::vector<Arena> arenas;  // all alive, so that their addresses differ
  for (std::size_t bytes = 1; bytes < std::size_t{4} << 20; bytes = 3 * bytes + 64) {
    const Arena& arena = arenas.emplace_back("test", bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.data()) % 256, 0u) << bytes << " bytes";
  }
  static_assert(arena_base_alignment % arena_alignment == 0, "offsets keep what the base has");
}

TEST(Arena, IsOneAllocationOfItsBytesToKokkosTools) {
  static std::uint64_t held = 0;  // callbacks of Kokkos Tools are plain functions
  namespace tools = Kokkos::Tools::Experimental;
  tools::set_allocate_data_callback(
      [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
        held += label == std::string("test") ? bytes : 0;
      });
  tools::set_deallocate_data_callback(
      [](Kokkos_Profiling_SpaceHandle, const char* label, const void*, std::uint64_t bytes) {
        held -= label == std::string("test") ? bytes : 0;
      });
  {
    const Arena arena("test", 1000);
    const Arena same = arena;  // NOLINT: owns the memory too
    EXPECT_EQ(held, 1000u);
    EXPECT_EQ(same.data(), arena.data());
  }
  EXPECT_EQ(held, 0u);
  tools::set_allocate_data_callback(nullptr);
  tools::set_deallocate_data_callback(nullptr);
}

TEST(Arena, BytesRoundUpToTheAlignment) {
  EXPECT_EQ(aligned_bytes(0), 0u);
  EXPECT_EQ(aligned_bytes(1), arena_alignment);
  EXPECT_EQ(aligned_bytes(arena_alignment), arena_alignment);
  EXPECT_EQ(aligned_bytes(arena_alignment + 1), 2 * arena_alignment);
}

TEST(Arena, TensorsAtDifferentOffsetsDoNotTouchEachOther) {
  const Arena arena("test", 2 * arena_alignment);
  const std::size_t halves = arena_alignment / 2;
  const std::size_t floats = arena_alignment / 4;
  const Tensor first = arena.tensor(0, DType::fp16, 1, arena_alignment / 2);
  const Tensor second = arena.tensor(arena_alignment, DType::fp32, 1, arena_alignment / 4);
  test::set_values(first, std::vector<float>(halves, 1.0f));
  test::set_values(second, std::vector<float>(floats, 2.0f));
  EXPECT_EQ(test::values_of(first), std::vector<float>(halves, 1.0f));
  EXPECT_EQ(test::values_of(second), std::vector<float>(floats, 2.0f));
}

TEST(Arena, RefusesATensorThatDoesNotFit) {
  const Arena arena("test", arena_alignment + 64);
  EXPECT_NO_THROW((void)arena.tensor(arena_alignment, DType::fp16, 2, 16));
  EXPECT_THROW((void)arena.tensor(arena_alignment, DType::fp16, 3, 11), Error);
  EXPECT_THROW((void)arena.tensor(2 * arena_alignment, DType::fp32, 1, 1), Error);
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

// What a rank takes less without master weights.
#include <gtest/gtest.h>

#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/memory_statement.hpp"
#include "train/synthetic.hpp"

namespace mylos::memory_without_masters_test {

using namespace testing_support;  // NOLINT

MemoryStatement statement_of(const Options& options, int ranks) {
  const std::unique_ptr<EngineSet> engines = make_engines(options.kernels);
  return state_memory(
      {.network = plan_network(options, 0, ranks), .engines = *engines, .processes = {ranks, 0}});
}

/// Of so many columns, four slices need no padding, on hosts and on devices.
constexpr int width = 512;
Options even_options(DType compute) {
  Options options = small_options(compute);
  options.model.inputs = options.model.outputs = width;
  options.model.hidden = {width, width};
  return options;
}
constexpr std::size_t hidden = 2 * (width * width + width);
constexpr std::size_t head = width * width + width;

TEST(MemoryWithoutMasters, IsFourBytesLessForEach16BitWeight) {
  for (const DType compute : {DType::bf16, DType::fp16}) {
    for (const bool has_float_head : {false, true}) {
      for (const int ranks : {1, 2, 3}) {
        Options options = even_options(compute);
        if (has_float_head) options.precision.rules = {{"head", DType::fp32}};
        const MemoryStatement with = statement_of(options, ranks);
        options.precision.masters = MasterWeights::none;
        const MemoryStatement without = statement_of(options, ranks);
        const std::size_t weights = hidden + (has_float_head ? 0 : head);
        const std::size_t padding =
            arena_alignment * static_cast<std::size_t>(ranks);  // of two buckets at most
        EXPECT_EQ(with.saved_by_masters, 0u);
        EXPECT_EQ(with.network_bytes() - without.network_bytes(), without.saved_by_masters);
        EXPECT_GE(without.saved_by_masters, 4 * weights);
        EXPECT_LE(without.saved_by_masters, 4 * (weights + padding));
        EXPECT_EQ(without.checkpoint_bytes, with.checkpoint_bytes) << "floats in the file all the same";
        EXPECT_EQ(with.local_state_bytes - without.local_state_bytes, 2 * weights) << "of the copy for it";
      }
    }
  }
}

TEST(MemoryWithoutMasters, IsAsMuchLessOnARankThatHoldsASlice) {
  for (const int ranks : {2, 4}) {
    Options options = even_options(DType::bf16);
    options.optimizer.shard = Shard::state;
    const MemoryStatement with = statement_of(options, ranks);
    options.precision.masters = MasterWeights::none;
    const MemoryStatement without = statement_of(options, ranks);
    EXPECT_EQ(without.saved_by_masters, 4 * (hidden + head) / static_cast<std::size_t>(ranks));
    EXPECT_EQ(with.network_bytes() - without.network_bytes(), without.saved_by_masters);
  }
}

}  // namespace mylos::memory_without_masters_test

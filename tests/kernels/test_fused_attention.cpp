// What a vendor's fused attention promises from shapes alone, and where it is required.
#include "mylos/kernels/attention/fused_attention.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "support/refusal.hpp"

namespace mylos::test_fused_attention {
namespace {

constexpr AttentionShape gpt2{32, 1024, 12, 64, DType::bf16};

TEST(FusedAttention, ServesHeadsThatTheLibraryHas) {
  const auto serves = [](auto change) {
    AttentionShape shape = gpt2;
    change(shape);
    return fused_attention::may_support(shape);
  };
  EXPECT_TRUE(serves([](AttentionShape&) {}));
  EXPECT_TRUE(serves([](AttentionShape& shape) { shape.type = DType::fp16; }));
  EXPECT_TRUE(serves([](AttentionShape& shape) { shape.length = 960; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.type = DType::fp32; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.head_width = 60; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.head_width = 136; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.length = 1000; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.length = 0; }));
  EXPECT_FALSE(serves([](AttentionShape& shape) { shape.length = 16384; })) << "6 GiB for one sample";
}

TEST(FusedAttention, BoundsItsWorkspaceWhateverTheBatch) {
  constexpr std::size_t gib = std::size_t{1} << 30;
  AttentionShape shape = gpt2;
  EXPECT_EQ(fused_attention::samples_at_a_time(shape), 32);
  EXPECT_GT(fused_attention::backward_workspace(shape), 32 * 12 * std::size_t{1024} * 1024 * 2);
  shape.samples = 1000;
  EXPECT_LT(fused_attention::samples_at_a_time(shape), 1000);
  EXPECT_LT(fused_attention::backward_workspace(shape), gib + (1 << 20));
  std::size_t before = 0;
  for (shape.samples = 1; shape.samples < 64; ++shape.samples) {
    EXPECT_GE(fused_attention::backward_workspace(shape), before) << "a ragged micro-batch needs no more";
    before = fused_attention::backward_workspace(shape);
  }
}

TEST(FusedAttention, TakesLessWorkspaceInAnyOrder) {
  constexpr auto any = AttentionSums::any_order;
  EXPECT_EQ(fused_attention::samples_at_a_time(gpt2, any), 32);
  // Two floats for each gradient of q, and one for each row.
  EXPECT_EQ(fused_attention::backward_workspace(gpt2, any),
            32 * 12 * std::size_t{1024} * 4 * 129 + (64 << 10));
  AttentionShape shape = gpt2;
  shape.length = 16384;
  EXPECT_TRUE(fused_attention::may_support(shape, any)) << "it grows with the length, not its square";
  shape.samples = 1000;
  EXPECT_LT(fused_attention::backward_workspace(shape, any), std::size_t{1} << 30 | 1 << 20);
}

/// As attention.hpp says: row = sample * length + token, and a head's values lie together.
TEST(FusedAttention, FindsValuesInPackedRows) {
  const AttentionShape shape{3, 5, 4, 8, DType::bf16};
  const std::int64_t columns = 3 * shape.width();
  const auto [of_sample, of_head, of_token, of_value] = fused_attention::strides(shape, columns);
  const auto sums = fused_attention::log_sum_strides(shape);
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      for (std::int64_t token = 0; token < shape.length; ++token) {
        EXPECT_EQ(sample * of_sample + head * of_head + token * of_token + 7 * of_value,
                  (sample * shape.length + token) * columns + head * shape.head_width + 7);
        EXPECT_EQ(sample * sums[0] + head * sums[1] + token * sums[2],
                  (sample * shape.heads + head) * shape.length + token);
      }
    }
  }
}

TEST(FusedAttention, IsRequiredForAnyOrderOfSums) {
  const KernelOptions options{.attention_sums = AttentionSums::any_order};
  const std::unique_ptr<EngineSet> plain = make_engines({});
  if (const FusedAttention* const library = plain->libraries().attention) {
    EXPECT_EQ(library->sums(), AttentionSums::fixed_order);
    const std::unique_ptr<EngineSet> engines = make_engines(options);
    EXPECT_EQ(engines->libraries().attention->sums(), AttentionSums::any_order);
  } else {
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_in_build,
                              {"kernels.attention_sums = \"any_order\"", "cuDNN", "\"fixed_order\""},
                              [&] { static_cast<void>(make_engines(options)); }));
  }
  EXPECT_EQ(usable_here(options).attention_sums, AttentionSums::fixed_order) << "nothing to add backward";
}

}  // namespace
}  // namespace mylos::test_fused_attention

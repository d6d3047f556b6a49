// The blocks of a transformer in memory of exactly the stated bytes: the same bits for every variant.
#include <gtest/gtest.h>

#include "model/small_gpt.hpp"
#include "support/cases.hpp"

namespace mylos::transformer_blocks_test {

constexpr std::int64_t samples = 3;

struct Case {
  NormType norm = NormType::layernorm;
  PositionType positions = PositionType::learned;
  FeedForwardType feed_forward = FeedForwardType::gelu;
  bool bias = true;
  double dropout = 0;
  DType type = DType::fp32;
  DType other = DType::fp32;  // of the layers at odd positions
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const DType other : {type, DType::fp32}) {
      result.push_back({.type = type, .other = other});
      result.push_back({.norm = NormType::rmsnorm,
                        .positions = PositionType::rotary,
                        .feed_forward = FeedForwardType::swiglu,
                        .bias = false,
                        .dropout = 0.25,
                        .type = type,
                        .other = other});
      result.push_back(
          {.feed_forward = FeedForwardType::swiglu, .dropout = 0.25, .type = type, .other = other});
    }
  }
  return result;
}

Chain chain_of(const Case& test) {
  ModelOptions model = test::small_gpt_options();
  model.norm = test.norm;
  model.positions = test.positions;
  model.feed_forward = test.feed_forward;
  model.bias = test.bias;
  model.dropout = test.dropout;
  PrecisionOptions precision;
  precision.compute = test.type;
  precision.gradient = GradientType::fp32;
  precision.rules = {{"attention2", test.other}, {"mlp1", test.other}, {"final_norm", test.other}};
  return make_gpt(model, precision, 3, true);
}

void fill(const Block& block, const test::GuardedBlock& memory) {
  int seed = 0;
  for (const Tensor& weight : memory.weights()) {
    test::set_values(weight, test::drawn_values(weight.size(), ++seed, 0.5f));
  }
  if (block.signature().input_type == DType::int32) {
    const auto tokens = test::drawn_tokens(static_cast<std::size_t>(memory.input().size()), 13, 5);
    test::copy_to_device(tokens.data(), memory.input().data(), tokens.size() * 4);
  } else {
    test::set_values(memory.input(), test::drawn_values(memory.input().size(), ++seed));
  }
}

void seed_gradient(const test::GuardedBlock& memory) {
  test::set_values(memory.output_gradient(), test::drawn_values(memory.output_gradient().size(), 77));
}

/// Output, gradients and input gradient.
std::vector<std::vector<std::byte>> run(const Block& block, std::size_t variant, bool accumulate,
                                        bool passes_gelu = false) {
  const std::int64_t rows = samples * test::small_gpt_options().context;
  test::GuardedBlock memory(block, rows, block.signature().input_type != DType::int32, variant, passes_gelu);
  fill(block, memory);
  memory.forward(true, false);
  std::vector<std::vector<std::byte>> result{test::bytes_of(memory.output())};
  memory.forward();
  EXPECT_EQ(test::bytes_of(memory.output()), result[0]) << "forward that keeps";
  if (block.signature().kind == "embedding") {  // tied: the head has already written the token gradient
    test::set_values(memory.gradients()[0], std::vector<float>(13 * 8, 0.0f));
  }
  seed_gradient(memory);
  memory.backward();
  if (accumulate) {
    seed_gradient(memory);
    memory.backward(true);
  }
  for (const Tensor& gradient : memory.gradients()) result.push_back(test::bytes_of(gradient));
  if (!memory.input_gradient().empty()) result.push_back(test::bytes_of(memory.input_gradient()));
  for (const Tensor& gradient : memory.gradients()) {
    for (const float value : test::values_of(gradient)) {
      EXPECT_TRUE(std::isfinite(value)) << block.signature().name << ", variant " << variant;
    }
  }
  return result;
}

TEST(TransformerBlocks, StayInTheirBytesAndGiveTheSameBitsWhateverIsKept) {
  const std::vector<Case> all = cases();
  for (std::size_t number = 0; number < all.size(); number += test::case_step) {
    const Chain chain = chain_of(all[number]);
    for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
      const Block& block = *chain.blocks[i];
      for (const bool accumulate : {false, true}) {
        const auto expected = run(block, 0, accumulate);
        EXPECT_EQ(run(block, 0, accumulate, true), expected)
            << block.signature().name << ", GELU in a product";
        const std::size_t variants = block.cost(test::ScribblingGemm(), 15).variants.size();
        for (std::size_t variant = 1; variant < variants; ++variant) {
          EXPECT_EQ(run(block, variant, accumulate), expected)
              << block.signature().name << ", variant " << variant;
        }
      }
    }
  }
}

TEST(TransformerBlocks, StateWhatTheirVariantsKeep) {
  ModelOptions model = test::small_gpt_options();
  model.width = 64;
  model.heads = 4;
  model.context = 32;
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  const Chain chain = make_gpt(model, precision, 1, false);
  test::ScribblingGemm gemm;
  const std::size_t row_vector = 128 * 4;
  const std::size_t matrix = 128 * 64 * 2;
  const BlockCost attention = chain.blocks[1]->cost(gemm, 128);
  ASSERT_EQ(attention.variants.size(), 3u);
  EXPECT_EQ(attention.output_bytes, matrix);
  EXPECT_EQ(attention.variants[0].saved_bytes, 2 * row_vector + 5 * matrix + 4 * row_vector);
  EXPECT_EQ(attention.variants[1].saved_bytes, 4 * matrix + 4 * row_vector);
  EXPECT_EQ(attention.variants[2].saved_bytes, 0u);
  const BlockCost mlp = chain.blocks[2]->cost(gemm, 128);
  EXPECT_EQ(mlp.variants[0].saved_bytes, 2 * row_vector + 9 * matrix);
  EXPECT_EQ(mlp.variants[1].saved_bytes, 4 * matrix);
  EXPECT_EQ(mlp.variants[2].saved_bytes, 0u);
  // GEMMs of all tokens with all weights, and scores of each token with all tokens up to itself.
  const double products = 2.0 * 128 * 64 * 64;
  const double scores = 2 * 2.0 * 64 * (32 * 33 / 2) * 4;
  EXPECT_DOUBLE_EQ(attention.forward_flops, 4 * products + scores + 8.0 * 128 * 64);
  EXPECT_DOUBLE_EQ(attention.variants[2].recompute_flops, 3 * products + scores + 8.0 * 128 * 64);
  for (const BlockCost& cost : {attention, mlp}) {
    for (const SavedVariant& variant : cost.variants) {
      EXPECT_EQ(variant.saved_bytes % arena_alignment, 0u);
      EXPECT_EQ(variant.backward_workspace % arena_alignment, 0u);
    }
  }
}

}  // namespace mylos::transformer_blocks_test

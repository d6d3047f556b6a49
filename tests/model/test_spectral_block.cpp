// SpectralBlock in memory of exactly the stated bytes: against its definition in double, the same bits for
// every variant, and matrices that blocks share.
#include "mylos/model/layers/spectral/spectral_block.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/reference_spectral.hpp"
#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/chain/buffers.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/losses/make_loss.hpp"

namespace mylos::spectral_block_test {

using test::Numbers;

constexpr std::int64_t rows = 3;

SpectralOptions options_of(DType type, const SpectralShape& shape, DType gradients = DType::fp32) {
  return {.name = "wave",
          .shape = shape,
          .input_type = type == DType::fp16 ? DType::fp32 : type,  // cast on entry
          .type = type,
          .gradient_type = gradients};
}

const SpectralShape shapes[] = {
    {.input = {.extent = {1, 1, 9}, .channels = 3}, .outputs = 2, .modes = {1, 1, 6}},
    {.input = {.extent = {1, 4, 6}, .channels = 2}, .outputs = 3, .modes = {1, 4, 6}},
    {.input = {.extent = {1, 5, 7}, .channels = 1}, .outputs = 2, .modes = {1, 3, 4}},
    {.input = {.extent = {3, 4, 5}, .channels = 2}, .outputs = 1, .modes = {3, 2, 5}}};

void fill(const test::GuardedBlock& memory) {
  int seed = 0;
  for (const Tensor& weight : memory.weights())
    test::set_values(weight, test::drawn_values(weight.size(), ++seed, 0.5f));
  test::set_values(memory.input(), test::drawn_values(memory.input().size(), 3));
  test::set_values(memory.output_gradient(), test::drawn_values(memory.output_gradient().size(), 4));
}

double largest_of(const Numbers& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

void expect_near(const Tensor& tensor, const Numbers& expected, double u, const std::string& what) {
  const Numbers found = test::doubles_of(tensor);
  ASSERT_EQ(found.size(), expected.size());
  const double bound = (16 * u + 1e-5) * (1 + largest_of(expected));
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], bound) << what << " " << i;
}

TEST(SpectralBlock, ThatKeepsItsInputTransformsItAgain) {
  const SpectralShape shape{.input = {.extent = {1, 4, 6}, .channels = 2}, .outputs = 2, .modes = {1, 4, 6}};
  const auto engines = make_engines({});
  const BlockCost cost = SpectralBlock(options_of(DType::fp32, shape)).cost(*engines, rows);
  const double mixing = cost.backward_flops - cost.forward_flops;  // as many channels in as out
  ASSERT_EQ(cost.variants.size(), 2u);
  EXPECT_EQ(cost.variants[0].recompute_flops, 0);
  EXPECT_EQ(cost.variants[1].recompute_flops, (cost.forward_flops - mixing) / 2);
  EXPECT_GT(cost.variants[1].recompute_flops, 0);
}

TEST(SpectralBlock, AgreesWithCentralDifferencesInDouble) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const SpectralShape& shape : shapes) {
      const SpectralBlock block(options_of(type, shape));
      test::GuardedBlock memory(block, rows, true);
      fill(memory);
      test::ReferenceSpectral reference{.shape = shape,
                                        .samples = rows,
                                        .x = test::doubles_of(memory.input()),
                                        .weight = test::doubles_of(memory.weights()[0]),
                                        .bias = test::doubles_of(memory.weights()[1])};
      const Numbers seed = test::doubles_of(memory.output_gradient());
      const auto loss = [&] {
        const Numbers y = reference.forward();
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += seed[i] * y[i];
        return sum;
      };
      const std::string what = fmt::format("{}, {}", name_of(type), describe(shape.input));
      const double u = test::unit_roundoff_of(type);
      memory.forward();
      expect_near(memory.output(), reference.forward(), u, what + " output");
      memory.backward();
      expect_near(memory.input_gradient(), test::central_differences(reference.x, loss), u, what + " dx");
      expect_near(memory.gradients()[0], test::central_differences(reference.weight, loss), u, what + " dW");
      expect_near(memory.gradients()[1], test::central_differences(reference.bias, loss), u, what + " db");
    }
  }
}

TEST(SpectralBlock, AddsToGradientsThatAccumulate) {
  const SpectralBlock block(options_of(DType::bf16, shapes[1]));
  test::GuardedBlock memory(block, rows, true);
  fill(memory);
  memory.forward();
  memory.backward();
  const std::vector<float> weight = test::values_of(memory.gradients()[0]);
  const std::vector<float> bias = test::values_of(memory.gradients()[1]);
  memory.backward(true);
  const std::vector<float> twice = test::values_of(memory.gradients()[0]);
  for (std::size_t i = 0; i < weight.size(); ++i) EXPECT_EQ(twice[i], 2 * weight[i]) << i;
  for (std::size_t i = 0; i < bias.size(); ++i)
    EXPECT_EQ(test::values_of(memory.gradients()[1])[i], 2 * bias[i]) << i;
}

TEST(SpectralBlock, GivesTheSameBitsWhateverIsKept) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const SpectralBlock block(options_of(type, shapes[2], type));
    std::vector<std::vector<float>> results;
    for (const std::size_t variant : {0u, 1u}) {
      test::GuardedBlock memory(block, rows, true, variant);
      fill(memory);
      memory.forward();
      memory.backward();
      for (const Tensor& tensor : {memory.output(), memory.input_gradient(), Tensor(memory.gradients()[0]),
                                   Tensor(memory.gradients()[1])})
        results.push_back(test::values_of(tensor));
    }
    for (std::size_t i = 0; i < results.size() / 2; ++i)
      EXPECT_EQ(results[i], results[i + results.size() / 2]);
  }
}

TEST(SpectralBlock, EvaluatesWithoutKeepingAnything) {
  const SpectralBlock block(options_of(DType::fp32, shapes[1]));
  test::GuardedBlock memory(block, rows, false);
  fill(memory);
  memory.forward(true);
  const std::vector<float> trained = test::values_of(memory.output());
  memory.forward(false, false);
  EXPECT_EQ(test::values_of(memory.output()), trained);
}

TEST(SpectralBlock, StartsWithNeuralOperatorsDistributions) {
  SpectralOptions options = options_of(DType::fp32, shapes[1]);
  const std::vector<ParameterSpec> specs = SpectralBlock(options).parameters();
  ASSERT_EQ(specs.size(), 2u);
  EXPECT_EQ(specs[0].rows, 4 * 4);  // -2 to 1, and 0 to 3
  EXPECT_EQ(specs[0].columns, 2 * 2 * 3);
  EXPECT_FLOAT_EQ(specs[0].initial_std, std::sqrt(1.0f / 5));
  EXPECT_FLOAT_EQ(specs[1].initial_std, std::sqrt(2.0f / 5));
  options.bias = false;
  EXPECT_EQ(SpectralBlock(options).parameters().size(), 1u);
}

TEST(SpectralBlock, SharesMatricesWithBlocksOnTheSameGrid) {
  const auto block_of = [](const char* name, Extents points, Extents modes, DType type) {
    return std::make_shared<SpectralBlock>(
        SpectralOptions{.name = name,
                        .shape = {.input = {.extent = points, .channels = 2}, .outputs = 2, .modes = modes},
                        .input_type = type,
                        .type = type});
  };
  Chain chain;
  chain.head = make_loss({}, {.numbers = 2 * 64});
  chain.blocks.push_back(block_of("a", {1, 8, 8}, {1, 4, 4}, DType::fp32));
  const std::size_t of_one = BufferStore::memory_bytes(chain);
  EXPECT_EQ(of_one, 2 * aligned_bytes(5 * 8 * sizeof(float)));
  EXPECT_EQ(BufferStore::memory(chain).back().bytes, of_one);
  EXPECT_EQ(BufferStore::state_bytes(chain), 0u) << "constants are not in checkpoints";
  chain.blocks.push_back(block_of("b", {1, 8, 8}, {1, 4, 4}, DType::fp32));
  EXPECT_EQ(BufferStore::memory_bytes(chain), of_one);
  chain.blocks.push_back(block_of("c", {1, 8, 8}, {1, 4, 4}, DType::bf16));
  EXPECT_EQ(BufferStore::memory_bytes(chain), of_one + 2 * aligned_bytes(5 * 8 * 2));

  const BufferStore store(chain);
  EXPECT_EQ(store.of(0)["analysis_8_4_fp32"].data(), store.of(1)["analysis_8_4_fp32"].data());
  EXPECT_NE(store.of(0)["analysis_8_4_fp32"].data(), store.of(0)["synthesis_8_4_fp32"].data());
  EXPECT_EQ(test::values_of(store.of(1)["synthesis_8_4_fp32"]), synthesis_matrix(8, 4));
  EXPECT_TRUE(store.state().empty());
}

TEST(SpectralBlock, ComputesLargeMatricesInPieces) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    Chain chain;
    chain.head = make_loss({}, {.numbers = 1000});
    chain.blocks.push_back(std::make_shared<SpectralBlock>(SpectralOptions{
        .name = "a",
        .shape = {.input = {.extent = {1, 1, 1000}, .channels = 1}, .outputs = 1, .modes = {1, 1, 600}},
        .input_type = type,
        .type = type}));  // 601 000 numbers, of which a piece has 262 144
    const BufferStore store(chain);
    for (const bool analyses : {false, true}) {
      std::vector<float> expected = analyses ? analysis_matrix(1000, 600) : synthesis_matrix(1000, 600);
      if (type == DType::bf16) {
        for (float& value : expected) value = to_float(from_float<bfloat16>(value));
      }
      const std::string name =
          fmt::format("{}_1000_600_{}", analyses ? "analysis" : "synthesis", name_of(type));
      EXPECT_EQ(test::values_of(store.of(0)[name.c_str()]), expected) << name;
    }
  }
}

}  // namespace mylos::spectral_block_test

#include "mylos/model/network/mlp.hpp"
// Every execution schedule gives bitwise the same gradients, whatever it stores and recomputes.
#include "model/recompute.hpp"
#include "model/skipping_chain.hpp"
#include "model/small_gpt.hpp"

namespace mylos::recompute_test {

TEST(Recompute, OfPerceptronsGivesTheSameBits) {
  constexpr std::int64_t rows = 12;
  const Arena memory("input and labels", 4096);
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const Activation activation : {Activation::relu, Activation::gelu, Activation::silu}) {
      const Tensor input = memory.tensor(0, type, rows, 6);
      test::set_values(input, test::drawn_values(rows * 6, 1));
      const std::vector<std::int32_t> labels{0, 3, 1, 2, 2, 0, 3, 1, 1, 0, 2, 3};
      test::copy_to_device(labels.data(), memory.data() + 2048, labels.size() * 4);
      const auto chain = [&] {
        ModelOptions model;
        model.inputs = 6;
        model.outputs = 4;
        model.hidden = {11, 9, 8};
        model.norm = NormType::layernorm;
        model.activation = activation;
        model.dropout = 0.25;
        PrecisionOptions precision;
        precision.compute = type;
        precision.rules = {{"norm2", DType::fp32}};
        return make_mlp(model, precision, 3, true);
      };
      const Truth truth{.labels = reinterpret_cast<const std::int32_t*>(memory.data() + 2048)};
      test::RecomputeTest({chain, rows, input, truth}).expect_equal_bits();
    }
  }
}

TEST(Recompute, OfChainsWithSkipsGivesTheSameBits) {
  constexpr std::int64_t rows = 12;
  const Arena memory("input and labels", 4096);
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const Tensor input = memory.tensor(0, type, rows, 6);
    test::set_values(input, test::drawn_values(rows * 6, 1));
    const std::vector<std::int32_t> labels{0, 3, 1, 2, 2, 0, 3, 1, 1, 0, 2, 3};
    test::copy_to_device(labels.data(), memory.data() + 2048, labels.size() * 4);
    const Truth truth{.labels = reinterpret_cast<const std::int32_t*>(memory.data() + 2048)};
    for (const DType middle : {type, type == DType::fp32 ? DType::bf16 : DType::fp32}) {
      const auto chain = [&] { return test::skipping_chain(type, middle, 0.25); };
      test::RecomputeTest({chain, rows, input, truth}).expect_equal_bits();
    }
  }
}

TEST(Recompute, OfTransformersGivesTheSameBits) {
  constexpr std::int64_t samples = 2;
  const test::TokenArray tokens(test::drawn_tokens(samples * 5, 13, 1));
  const test::TokenArray labels(test::drawn_tokens(samples * 5, 13, 2));
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    for (const NormType norm : {NormType::layernorm, NormType::rmsnorm}) {
      for (const PositionType positions : {PositionType::learned, PositionType::rotary}) {
        const auto chain = [&] {
          ModelOptions model = test::small_gpt_options();
          model.norm = norm;
          model.positions = positions;
          model.feed_forward = (norm == NormType::rmsnorm) == (positions == PositionType::rotary)
                                   ? FeedForwardType::gelu
                                   : FeedForwardType::swiglu;
          model.tied = positions == PositionType::learned;
          model.dropout = 0.25;
          PrecisionOptions precision;
          precision.compute = type;
          precision.rules = {{"mlp1", DType::fp32}};
          return make_gpt(model, precision, 3, true);
        };
        test::RecomputeTest({chain, samples, tokens.tensor(), {.labels = labels.data()}}).expect_equal_bits();
      }
    }
  }
}

}  // namespace mylos::recompute_test

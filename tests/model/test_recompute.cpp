// Whatever a schedule keeps and computes again, the gradients are the same bits.
#include "model/recompute.hpp"

namespace mylos {
namespace {

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

}  // namespace
}  // namespace mylos

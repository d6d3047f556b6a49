// Loss and gradients of a micro-batch have the same bits for every number of threads.
#include <gtest/gtest.h>

#include "model/small_gpt.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/network/mlp.hpp"
#include "support/executions.hpp"

namespace mylos::thread_counts_test {

struct Result {
  std::vector<std::vector<std::byte>> gradients;  // of every bucket
  double loss = 0;
  bool operator==(const Result&) const = default;
};

struct Batch {
  std::int64_t samples = 0;
  Tensor input;
  const std::int32_t* labels = nullptr;
};

/// With one engine and its workspace, as in a run.
Result run(TrainingModel& model, const Engines& engines, const Batch& batch, const Execution& exec) {
  const test::DeviceValue<std::uint64_t> step(5);
  const test::DeviceValue<float> scale(64.0f);
  const test::DeviceValue<LossSums> sums;
  const StepContext context{.exec = exec, .engines = engines, .step = step.data(), .first_sample = 100};
  const auto rows = static_cast<float>(batch.samples * model.chain().rows_per_sample);
  model.forward(context, batch.input);
  model.loss_and_seed(context, {.labels = batch.labels}, {scale.data(), 1.0f / rows, false}, sums.data());
  model.backward(context, false, [](std::size_t) {});
  exec.fence();
  Result result;
  result.loss = sums.get().loss;
  for (const GradientBucket& bucket : model.parameters().layout().buckets)
    result.gradients.push_back(test::bytes_of(model.parameters().gradient(bucket)));
  return result;
}

void expect_same_bits(Chain chain, const Batch& batch) {
  const auto engines = make_engines({});
  TrainingModel model(std::move(chain), *engines, batch.samples, 1 << 20, 1);
  model.parameters().initialize(Execution{}, 17);
  const Result expected = run(model, *engines, batch, Execution{});
  ASSERT_TRUE(std::isfinite(expected.loss));
  for (const Execution& exec : test::narrower_executions())
    EXPECT_EQ(run(model, *engines, batch, exec), expected) << exec.concurrency() << " threads";
}

class ThreadCounts : public testing::TestWithParam<DType> {
 protected:
  [[nodiscard]] PrecisionOptions precision() const {
    PrecisionOptions precision;
    precision.compute = GetParam();
    return precision;
  }
};
INSTANTIATE_TEST_SUITE_P(Types, ThreadCounts, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& type) { return std::string(name_of(type.param)); });

TEST_P(ThreadCounts, GiveAPerceptronTheSameBits) {
  constexpr std::int64_t rows = 131;
  ModelOptions model;
  model.inputs = 150;
  model.outputs = 10;
  model.hidden = {300, 170};
  model.norm = NormType::layernorm;
  model.activation = Activation::gelu;
  model.dropout = 0.25;
  const Arena memory("input", rows * 150 * sizeof(float));
  const Tensor input = memory.tensor(0, GetParam(), rows, 150);
  test::set_values(input, test::drawn_values(rows * 150, 1));
  const test::TokenArray labels(test::drawn_tokens(rows, 10, 2));
  expect_same_bits(make_mlp(model, precision(), 3, false), {rows, input, labels.data()});
}

TEST_P(ThreadCounts, GiveATransformerTheSameBits) {
  constexpr std::int64_t samples = 3;
  ModelOptions model = test::small_gpt_options();
  model.heads = 3;
  model.width = 96;
  model.context = 70;
  model.vocabulary = 65;
  model.dropout = 0.25;
  const test::TokenArray tokens(test::drawn_tokens(samples * 70, 65, 1));
  const test::TokenArray labels(test::drawn_tokens(samples * 70, 65, 2));
  expect_same_bits(make_gpt(model, precision(), 3, false), {samples, tokens.tensor(), labels.data()});
}

}  // namespace mylos::thread_counts_test

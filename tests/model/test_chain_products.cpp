// The GEMMs that a chain states are those that it computes.
#include "mylos/model/chain/chain_products.hpp"
#include "mylos/model/network/mlp.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/small_gpt.hpp"

namespace mylos::chain_products_test {

/// The machine's engine, which also records its problems.
class RecordingGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "recording"; }
  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override {
    return engine_->sums_rows(problem);
  }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_->workspace_bytes(problem);
  }
  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    problems.push_back(problem);
    engine_->run(execution, problem, operands, workspace);
  }
  std::vector<GemmProblem> problems;

 private:
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({});
};

/// One line for each GEMM that is computed: the problem and its count.
std::map<std::string, std::int64_t> counts(
    const std::vector<std::pair<GemmProblem, std::int64_t>>& products) {
  std::map<std::string, std::int64_t> result;
  for (const auto& [problem, times] : products) {
    result[fmt::format("{} {} x {} x {}, {} to {}", name_of(form_of(problem)), problem.m, problem.n,
                       problem.k, name_of(problem.a), name_of(problem.c))] += times;
  }
  return result;
}

void expect_stated(Chain chain, std::int64_t samples, const Tensor& input, const Truth& truth) {
  const Execution exec;
  const std::int64_t rows = samples * chain.rows_per_sample;
  std::vector<std::pair<GemmProblem, std::int64_t>> stated, run;
  for (const auto& [stage, product] : products_of(chain, rows)) {
    stated.emplace_back(product.problem, product.times);
    EXPECT_LE(stage, chain.blocks.size());
  }
  RecordingGemm gemm;
  TrainingModel model(std::move(chain), Engines(gemm), samples, 1 << 20, 1);
  model.parameters().initialize(exec, 17);
  const test::DeviceValue<std::uint64_t> step{1};
  const test::DeviceValue<float> scale{1.0f};
  const test::DeviceValue<LossSums> sums;
  const StepContext context{.exec = exec, .engines = Engines(gemm), .step = step.data()};
  model.forward(context, input);
  model.loss_and_seed(context, truth, {scale.data(), 1.0f / static_cast<float>(rows), false}, sums.data());
  model.backward(context, false, [](std::size_t) {});
  exec.fence();
  for (const GemmProblem& problem : gemm.problems) run.emplace_back(problem, 1);
  EXPECT_EQ(counts(stated), counts(run));
}

TEST(ChainProducts, AreThoseOfAStepOfATransformer) {
  constexpr std::int64_t samples = 110;  // 550 rows: logits in chunks, the last one smaller
  const test::TokenArray tokens(test::drawn_tokens(samples * 5, 13, 1));
  const test::TokenArray labels(test::drawn_tokens(samples * 5, 13, 2));
  for (const FeedForwardType feed_forward : {FeedForwardType::gelu, FeedForwardType::swiglu}) {
    for (const DType type : {DType::fp32, DType::bf16}) {
      ModelOptions model = test::small_gpt_options();
      model.feed_forward = feed_forward;
      model.vocabulary = 1 << 16;  // a chunk of logits takes some megabytes
      PrecisionOptions precision;
      precision.compute = type;
      expect_stated(make_gpt(model, precision, 3, false), samples, tokens.tensor(),
                    {.labels = labels.data()});
    }
  }
}

TEST(ChainProducts, AreThoseOfAStepOfAPerceptron) {
  constexpr std::int64_t rows = 12;
  const Arena memory("input and targets", 4096);
  const Tensor input = memory.tensor(0, DType::fp32, rows, 6);
  test::set_values(input, test::drawn_values(rows * 6, 1));
  const std::vector<std::int32_t> labels{0, 3, 1, 2, 2, 0, 3, 1, 1, 0, 2, 3};
  test::copy_to_device(labels.data(), memory.data() + 2048, labels.size() * 4);
  ModelOptions model;
  model.inputs = 6;
  model.outputs = 4;
  model.hidden = {11, 9, 9, 9};
  model.norm = NormType::layernorm;
  PrecisionOptions precision;
  precision.compute = DType::fp32;
  expect_stated(make_mlp(model, precision, 3, false), rows, input,
                {.labels = reinterpret_cast<const std::int32_t*>(memory.data() + 2048)});
}

TEST(ChainProducts, OfEqualLayersAreDistinctOnce) {
  ModelOptions model = test::small_gpt_options();
  const std::size_t of_two_layers = distinct_problems(products_of(make_gpt(model, {}, 3, false), 10)).size();
  model.layers = 7;
  EXPECT_EQ(distinct_problems(products_of(make_gpt(model, {}, 3, false), 10)).size(), of_two_layers);
}

}  // namespace mylos::chain_products_test

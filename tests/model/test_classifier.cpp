// The classifier in chunks, in memory of exactly the stated bytes, against double.
#include <gtest/gtest.h>

#include "model/guarded_block.hpp"
#include "model/reference_mlp.hpp"
#include "model/small_gpt.hpp"
#include "mylos/model/network/classifier.hpp"

namespace mylos::classifier_test {

constexpr std::int64_t rows = 600;
constexpr std::int64_t width = 6;
constexpr std::int64_t classes = 37;

ClassifierOptions options_of(DType input_type, DType type, std::size_t chunk_bytes) {
  ClassifierOptions options;
  options.width = width;
  options.classes = classes;
  options.input_type = input_type;
  options.type = type;
  options.chunk_bytes = chunk_bytes;
  return options;
}

/// For statements of cost: computes nothing.
class GemmWithoutWorkspace final : public GemmEngine {
 public:
  operator Engines() {
    GemmEngine& gemm = *this;
    return Engines(gemm);
  }
  [[nodiscard]] std::string_view name() const override { return "none"; }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override { return 0; }
  void run(const Execution&, const GemmProblem&, const GemmOperands&, void*) override {
    FAIL() << "only its workspace is asked for";
  }
};

/// Runs a head with guards around its workspace.
struct Bench {
  explicit Bench(const ClassifierOptions& options)
      : head(options),
        bytes(head.cost(gemm, rows).workspace),
        workspace("workspace", bytes + 512),
        values("values", 1 << 18) {
    Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(workspace.data(), workspace.bytes()), guard);
    const auto place = [&](DType type, std::int64_t r, std::int64_t c) {
      const Tensor tensor = values.tensor(end, type, r, c);
      end += aligned_bytes(tensor.bytes());
      return tensor;
    };
    weight = place(options.type, classes, width);
    weight_gradient = place(DType::fp32, classes, width);
    input = place(options.input_type, rows, width);
    input_gradient = place(options.input_type, rows, width);
    test::set_values(weight, test::drawn_values(classes * width, 1));
    test::set_values(input, test::drawn_values(rows * width, 2));
  }
  void run(bool accumulate = false) {
    const std::vector<NamedTensor> weights{{"weight", weight}};
    const std::vector<NamedTensor> weight_gradients{{"weight", weight_gradient}};
    const LossMemory memory{weights, input, workspace.data() + 256};
    const LossGradients gradients{weight_gradients, accumulate, input_gradient, scale.data(), 1.0f / rows};
    head.evaluate_and_seed(context(), memory, {.labels = labels.data()}, gradients, sums.data());
    expect_guards();
  }
  void evaluate() {
    const std::vector<NamedTensor> weights{{"weight", weight}};
    head.evaluate(context(), {weights, input, workspace.data() + 256}, {.labels = labels.data()},
                  sums.data());
    expect_guards();
  }
  void expect_guards() {
    exec.fence();
    std::vector<std::byte> all(workspace.bytes());
    test::copy_to_host(workspace.data(), all.data(), all.size());
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(all[i], guard);
      ASSERT_EQ(all[256 + bytes + i], guard);
    }
  }
  StepContext context() { return {.exec = exec, .engines = gemm}; }

  static constexpr std::byte guard{0xc3};
  Execution exec;
  test::ScribblingGemm gemm;
  Classifier head;
  std::size_t bytes;
  Arena workspace, values;
  std::size_t end = 0;
  Tensor weight, weight_gradient, input, input_gradient;
  std::vector<std::int32_t> label_values = test::drawn_tokens(rows, classes - 5, 3);  // the last 5: padding
  test::TokenArray labels{label_values};
  test::DeviceValue<float> scale{256.0f};
  test::DeviceValue<LossSums> sums;
};

TEST(Classifier, CutsRowsIntoEqualChunks) {
  const Classifier small(options_of(DType::fp32, DType::fp32, 1));
  EXPECT_EQ(small.chunk_rows(1), 1);
  EXPECT_EQ(small.chunk_rows(256), 256);
  EXPECT_EQ(small.chunk_rows(257), 129);
  EXPECT_EQ(small.chunk_rows(600), 200);
  const Classifier large(options_of(DType::fp32, DType::fp32, 1 << 20));
  EXPECT_EQ(large.chunk_rows(600), 600);
  // 50304 classes of 16,384 rows would take 1.6 GB in 16 bits. The engine bounds the additional workspace of
  // GEMMs.
  ClassifierOptions options = options_of(DType::bf16, DType::bf16, std::size_t{32} << 20);
  options.width = 1600;
  options.classes = 50304;
  EXPECT_LT(Classifier(options).cost(GemmWithoutWorkspace(), 16384).workspace, std::size_t{33} << 20);
}

class ClassifierGradients : public testing::TestWithParam<std::array<DType, 2>> {};

TEST_P(ClassifierGradients, OfChunksAgreeWithDouble) {
  const auto [input_type, type] = GetParam();
  const double u = dispatch(type, [&]<class T>(TypeTag<T>) { return unit_roundoff<T>; });
  const double input_u = dispatch(input_type, [&]<class T>(TypeTag<T>) { return unit_roundoff<T>; });
  for (const std::size_t chunk_bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    Bench bench(options_of(input_type, type, chunk_bytes));
    bench.run();
    const std::vector<float> w = test::values_of(bench.weight), x = test::values_of(bench.input);
    std::vector<double> dw(classes * width, 0.0), dx(rows * width, 0.0), dw_bound(dw), dx_bound(dx);
    double loss = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<double> p(classes);
      double sum = 0, largest = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        double logit = 0;
        for (std::size_t i = 0; i < width; ++i) {
          logit += static_cast<double>(x[r * width + i]) * static_cast<double>(w[c * width + i]);
        }
        largest = std::max(largest, std::abs(logit));
        sum += p[c] = std::exp(logit);
      }
      const auto label = static_cast<std::size_t>(bench.label_values[r]);
      loss -= std::log(p[label] / sum);
      for (std::size_t c = 0; c < classes; ++c) {
        const double probability = p[c] / sum;
        const double d = 256.0 / rows * (probability - (c == label ? 1 : 0));
        // Logits are rounded, which moves each by u |logit| and p by as much of itself; d is rounded again.
        const double bound = 256.0 / rows * 2 * probability * (u * largest + 1e-6) + u * std::abs(d);
        for (std::size_t i = 0; i < width; ++i) {
          dw[c * width + i] += d * static_cast<double>(x[r * width + i]);
          dx[r * width + i] += d * static_cast<double>(w[c * width + i]);
          dw_bound[c * width + i] += bound * std::abs(static_cast<double>(x[r * width + i]));
          dx_bound[r * width + i] += bound * std::abs(static_cast<double>(w[c * width + i]));
        }
      }
    }
    const std::vector<float> weight_gradient = test::values_of(bench.weight_gradient);
    for (std::size_t e = 0; e < dw.size(); ++e)
      ASSERT_NEAR(weight_gradient[e], dw[e], dw_bound[e] + 1e-4) << e;
    const std::vector<float> input_gradient = test::values_of(bench.input_gradient);
    for (std::size_t e = 0; e < dx.size(); ++e) {
      ASSERT_NEAR(input_gradient[e], dx[e], dx_bound[e] + 2 * input_u * std::abs(dx[e]) + 1e-5) << e;
    }
    EXPECT_NEAR(bench.sums.get().loss, loss, (12 * u + 1e-6) * rows);

    // Evaluation gives the same loss, and a second micro-batch adds the same gradient.
    const double first = bench.sums.get().loss;
    bench.evaluate();
    EXPECT_DOUBLE_EQ(bench.sums.get().loss, 2 * first);
    bench.run(true);
    const std::vector<float> twice = test::values_of(bench.weight_gradient);
    for (std::size_t e = 0; e < dw.size(); ++e) EXPECT_NEAR(twice[e], 2 * weight_gradient[e], 1e-3) << e;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, ClassifierGradients,
                         testing::Values(std::array{DType::fp32, DType::fp32},
                                         std::array{DType::bf16, DType::bf16},
                                         std::array{DType::fp16, DType::fp16},
                                         std::array{DType::bf16, DType::fp32}));

}  // namespace mylos::classifier_test

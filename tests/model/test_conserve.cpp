// Layers that set the sums of fields over the points: values and gradients against formulas and differences
// in double, in every type and for all keys; a thousand applications in a row; what does not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "model/scribbling_gemm.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/layers/conserve/conserve_block.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "support/said.hpp"

namespace mylos::conserve_test {

using Numbers = std::vector<double>;

constexpr std::int64_t rows = 3;  // samples

struct Case {
  std::int64_t channels = 2;
  std::int64_t skip_channels = 2;  // 0: sums of 0
  std::vector<std::int32_t> of = {}, from = {};
  std::vector<double> weights = {};  // of the 4 rows of the grid

  [[nodiscard]] ConserveOptions options(DType type, DType input, DType skip) const {
    ConserveOptions options{.name = "sum",
                            .grid = {.extent = {1, 4, 3}, .channels = channels},
                            .skip_channels = skip_channels,
                            .row_weights = weights,
                            .rows = 4,
                            .input_type = input,
                            .skip_type = skip,
                            .type = type};
    options.channels = {.count = channels};
    if (of.empty()) return options;
    options.channels = {.count = static_cast<std::int64_t>(of.size()), .are_listed = true};
    std::copy(of.begin(), of.end(), options.channels.channel);
    std::copy(from.begin(), from.end(), options.channels.from);
    return options;
  }
  [[nodiscard]] double weight(std::size_t point) const {
    return weights.empty() ? 1 : static_cast<double>(static_cast<float>(weights[point / 3]));
  }
  /// The sum of a channel of one sample of `width` channels.
  [[nodiscard]] double sum(const Numbers& sample, std::size_t width, std::size_t channel) const {
    double total = 0;
    for (std::size_t p = 0; p < 12; ++p) total += weight(p) * sample[p * width + channel];
    return total;
  }
  /// y of one sample.
  [[nodiscard]] Numbers forward(Numbers x, const Numbers& s) const {
    double total = 0;
    for (std::size_t p = 0; p < 12; ++p) total += weight(p);
    const std::size_t count = of.empty() ? static_cast<std::size_t>(channels) : of.size();
    for (std::size_t k = 0; k < count; ++k) {
      const auto c = of.empty() ? k : static_cast<std::size_t>(of[k]);
      const auto source = of.empty() ? k : static_cast<std::size_t>(from[k]);
      const double wanted = skip_channels == 0 ? 0 : sum(s, static_cast<std::size_t>(skip_channels), source);
      const double added = (wanted - sum(x, static_cast<std::size_t>(channels), c)) / total;
      for (std::size_t p = 0; p < 12; ++p) x[p * static_cast<std::size_t>(channels) + c] += added;
    }
    return x;
  }
};

const Case cases[] = {
    {},
    {.channels = 3, .skip_channels = 0},
    {.channels = 1, .skip_channels = 1, .weights = {0.25, 1, 0.75, 0}},
    {.channels = 3, .skip_channels = 5, .of = {2, 0}, .from = {4, 1}, .weights = {1, 2, 3, 4}},
    {.channels = 4, .skip_channels = 0, .of = {3}, .from = {3}},
    {.channels = 2, .skip_channels = 3, .of = {0, 1}, .from = {1, 1}}};

Numbers sample_of(const std::vector<float>& all, std::size_t row) {
  const std::size_t width = all.size() / static_cast<std::size_t>(rows);
  return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
          all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
}

struct Types {
  DType block, input, skip;
};

class Conserve : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  [[nodiscard]] static const Case& of() { return cases[std::get<0>(GetParam())]; }
  [[nodiscard]] static Types types() {
    constexpr Types all[] = {{DType::fp32, DType::fp32, DType::fp32},
                             {DType::fp32, DType::bf16, DType::fp32},
                             {DType::fp32, DType::fp16, DType::bf16},
                             {DType::bf16, DType::bf16, DType::bf16},
                             {DType::fp16, DType::fp16, DType::fp32}};
    return all[std::get<1>(GetParam())];
  }
};
INSTANTIATE_TEST_SUITE_P(All, Conserve,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(cases)),
                                          testing::Range(std::size_t{0}, std::size_t{5})));

TEST_P(Conserve, AndItsGradientsAreThoseOfTheReference) {
  const auto [type, input_type, skip_type] = types();
  const ConserveBlock block(of().options(type, input_type, skip_type));
  const std::int64_t columns = 12 * of().channels;
  const std::int64_t skip_columns = 12 * of().skip_channels;
  const std::int64_t held = std::max<std::int64_t>(skip_columns, 1);
  const auto x = test::random_values(input_type, rows * columns, -2, 2, 1);
  const auto s = test::random_values(skip_type, rows * held, -2, 2, 2);
  const auto dy = test::random_values(type, rows * columns, -1, 1, 3);
  const auto before = test::random_values(skip_type, rows * held, -1, 1, 4);
  const test::Matrix input(input_type, rows, columns, x), output(type, rows, columns),
      skip(skip_type, rows, held, s), d_output(type, rows, columns, dy), d_input(input_type, rows, columns),
      d_skip(skip_type, rows, held, before);
  test::ScribblingGemm gemm;
  const BlockCost cost = block.cost(gemm, rows);
  const Arena workspace("workspace", std::max<std::size_t>(256, cost.forward_workspace));
  const Arena constants("weights", 64);
  std::vector<NamedTensor> buffers;
  for (const BufferSpec& spec : block.buffers()) {
    std::vector<float> numbers(static_cast<std::size_t>(spec.size));
    spec.values(0, numbers);
    const Tensor held_weights = constants.tensor(0, spec.type, 1, spec.size);
    test::set_values(held_weights, numbers);
    buffers.emplace_back(spec.name, held_weights);
  }
  const Execution exec;
  const StepContext context{.exec = exec, .engines = gemm};
  BlockMemory memory{.weights = {}, .input = input, .output = output, .workspace = workspace.data()};
  memory.buffers = buffers;
  if (skip_columns > 0) memory.skip = skip;
  block.forward(context, memory);
  exec.fence();
  const std::vector<float> y = output.values();
  BlockGradients gradients{.weights = {}, .output = d_output, .input = d_input};
  if (skip_columns > 0) gradients.skip = d_skip;
  gradients.add_to_skip = true;
  block.backward(context, memory, gradients);
  exec.fence();
  const std::vector<float> dx = d_input.values();
  const std::vector<float> ds = d_skip.values();
  for (std::size_t row = 0; row < rows; ++row) {
    const Numbers of_x = sample_of(x, row), of_s = sample_of(s, row), of_dy = sample_of(dy, row);
    // The network's numbers in the block's type.
    Numbers rounded_x, rounded_s;
    for (const double each : of_x) rounded_x.push_back(test::rounded_to(type, static_cast<float>(each)));
    for (const double each : of_s) rounded_s.push_back(test::rounded_to(type, static_cast<float>(each)));
    const Numbers expected = of().forward(rounded_x, rounded_s);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(y[row * expected.size() + i], expected[i],
                  test::rounding_error(type, expected[i]) + test::u * std::abs(expected[i]));
    const auto of_both = [&](const Numbers& one, const Numbers& other) {
      const Numbers found = of().forward(one, other);
      return std::inner_product(found.begin(), found.end(), of_dy.begin(), 0.0);
    };
    for (std::size_t i = 0; i < of_x.size(); ++i) {
      const double slope =
          test::central_difference([&](const Numbers& at) { return of_both(at, of_s); }, of_x, i);
      ASSERT_NEAR(dx[row * of_x.size() + i], slope,
                  2 * test::rounding_error(type, slope) + test::rounding_error(input_type, slope) + 1e-8);
    }
    for (std::size_t i = 0; skip_columns > 0 && i < of_s.size(); ++i) {
      const double slope =
          before[row * of_s.size() + i] +
          test::central_difference([&](const Numbers& at) { return of_both(of_x, at); }, of_s, i);
      const double summed = std::abs(slope) + std::abs(before[row * of_s.size() + i]);
      ASSERT_NEAR(
          ds[row * of_s.size() + i], slope,
          2 * test::rounding_error(type, summed) + 2 * test::rounding_error(skip_type, summed) + 1e-8);
    }
  }
}

/// A state advanced by a random change in 16 bits, whose sum is set to that of the state before.
void expect_kept_sums(DType change_type) {
  constexpr std::int64_t points = 48 * 32, channels = 2, applications = 1000;
  ConserveOptions options{.name = "sum",
                          .grid = {.extent = {1, 48, 32}, .channels = channels},
                          .skip_channels = channels,
                          .channels = {.count = channels},
                          .rows = 48};
  for (int row = 0; row < 48; ++row) options.row_weights.push_back(std::cos((row - 23.5) * 0.06));
  const ConserveBlock block(options);
  const test::Matrix weights(DType::fp32, 1, 48, {options.row_weights.begin(), options.row_weights.end()});
  std::vector<NamedTensor> buffers;
  buffers.emplace_back(block.buffers().front().name, weights.tensor());
  test::ScribblingGemm gemm;
  const Execution exec;
  const StepContext context{.exec = exec, .engines = gemm};
  std::vector<float> state = test::random_values(DType::fp32, points * channels, -1, 3, 1);
  const auto mean = [&](std::int64_t channel) {
    double sum = 0, total = 0;
    for (std::int64_t p = 0; p < points; ++p) {
      const auto w =
          static_cast<double>(static_cast<float>(options.row_weights[static_cast<std::size_t>(p / 32)]));
      sum += w * state[static_cast<std::size_t>(p * channels + channel)];
      total += w;
    }
    return sum / total;
  };
  const double first[] = {mean(0), mean(1)};
  double moved = 0;
  for (int step = 0; step < applications; ++step) {
    std::vector<float> proposed =
        test::random_values(change_type, points * channels, -0.5f, 0.75f, static_cast<unsigned>(step));
    for (std::size_t i = 0; i < proposed.size(); ++i)
      proposed[i] = test::rounded_to(change_type, 0.75f * state[i] + proposed[i]);
    const test::Matrix before(DType::fp32, 1, points * channels, state),
        input(DType::fp32, 1, points * channels, proposed), output(DType::fp32, 1, points * channels);
    BlockMemory memory{.weights = {}, .input = input, .output = output, .skip = before};
    memory.buffers = buffers;
    block.forward(context, memory);
    exec.fence();
    const std::vector<float> after = output.values();
    moved = std::max(moved, static_cast<double>(std::abs(after[7] - state[7])));
    state = after;
  }
  EXPECT_GT(moved, 0.1);
  // Each application rounds numbers of at most 4 to float, as often up as down. Where they were sums of
  // floats, their errors differ; numbers of 16 bits that the same number is added to may all be rounded
  // alike.
  const double alike = change_type == DType::fp32 ? static_cast<double>(points) : 1;
  const double bound = 4 * 4 * test::u * std::sqrt(applications / alike);
  for (const std::int64_t channel : {0, 1})
    EXPECT_NEAR(mean(channel), first[channel], bound) << name_of(change_type);
}

TEST(ConservedSums, StayTheSameOverAThousandApplications) {
  expect_kept_sums(DType::fp32);
  expect_kept_sums(DType::bf16);
}

ModelOptions network(LayerKind last, std::int64_t outputs = 2) {
  ModelOptions model;
  model.type = ModelType::chain;
  model.loss = losses::Mse{};
  model.shape = {4, 3, 2};
  model.inputs = 24;
  model.outputs = 12 * outputs;
  model.chain = {{.kind = kinds::Conv{.kernel = {3}}, .name = "conv", .outputs = outputs},
                 {.kind = std::move(last), .name = "sum"}};
  if (std::holds_alternative<kinds::Conserve>(model.chain.back().kind))
    model.chain.back().skip_from = "input";
  return model;
}

Chain chain_of(const ModelOptions& model, DType compute = DType::bf16) {
  PrecisionOptions precision;
  precision.compute = compute;
  return make_chain(model, precision, 1, false);
}

TEST(ConserveLayer, IsFloatUnlessARuleSaysOtherwise) {
  const Chain kept = chain_of(network(kinds::Conserve{}));
  EXPECT_EQ(kept.input_type(), DType::fp32) << "rounded inputs have other sums";
  EXPECT_EQ(kept.blocks[0]->signature().output_type, DType::bf16);
  EXPECT_EQ(kept.output_type(), DType::fp32);
  EXPECT_EQ(chain_of(network(kinds::ZeroSum{})).input_type(), DType::bf16);
  PrecisionOptions precision;
  precision.compute = DType::bf16;
  precision.rules = {{.pattern = "sum", .type = DType::bf16}};
  const Chain ruled = make_chain(network(kinds::Conserve{}), precision, 1, false);
  EXPECT_EQ(ruled.output_type(), DType::bf16);
  EXPECT_EQ(ruled.input_type(), DType::bf16);
}

TEST(ConserveLayer, IsRefusedWhereItDoesNotFit) {
  const auto expect = [](const ModelOptions& model, std::initializer_list<std::string_view> parts) {
    EXPECT_TRUE(
        test::says(test::refusal_of([&] { static_cast<void>(chain_of(model)); }), errors::bad_layer, parts));
  };
  expect(network(kinds::Conserve{}, 3), {"layer 'sum'", "3 channels", "has 2", "'from_channels'"});
  expect(network(kinds::Conserve{.channels = {0, 0}}), {"the channel 0 twice"});
  expect(network(kinds::Conserve{.channels = {2}}), {"has 2 in 'channels'", "0 to 1"});
  expect(network(kinds::Conserve{.channels = {0}, .from_channels = {0, 1}}), {"1 'channels' and 2"});
  expect(network(kinds::Conserve{.channels = {0}, .from_channels = {4}}), {"has 4 in 'from_channels'"});
  expect(network(kinds::ZeroSum{.row_weights = {1, 2, 3}}), {"has 3 'row_weights'", "has 4 points"});
  expect(network(kinds::ZeroSum{.row_weights = {0, 0, 0, 0}}), {"'row_weights' that are all 0"});
  ModelOptions model = network(kinds::ZeroSum{});
  model.chain.back().activation = Activation::relu;
  expect(model, {"'activation'", "the layer before it"});
}

}  // namespace mylos::conserve_test

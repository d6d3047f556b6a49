// Initial values by the rules of the deck, against the moments of their distributions and the definition of
// an orthogonal matrix.
#include "mylos/model/parameters/initial_values.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "mylos/base/errors/deck.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/parameters/parameter_store.hpp"
#include "support/device_values.hpp"
#include "support/rounding.hpp"
#include "support/said.hpp"

namespace mylos::initial_values_test {

/// Two convolutions, of kernels of 3 x 3 and 1, then dense layers: [64, 9 · 3], [128, 64], [300, ...], [7,
/// 300].
ModelOptions grid_network() {
  ModelOptions model;
  model.type = ModelType::chain;
  model.inputs = 8 * 8 * 3;
  model.outputs = 7;
  model.shape = {8, 8, 3};
  LayerOptions conv{.kind = kinds::Conv{.kernel = {3}}};
  conv.name = "wide";
  conv.outputs = 64;
  model.chain.push_back(conv);
  conv.name = "narrow";
  conv.outputs = 128;
  conv.kind = kinds::Conv{};
  model.chain.push_back(conv);
  LayerOptions pool{.kind = kinds::GlobalPool{}};
  model.chain.push_back(pool);
  LayerOptions dense{.kind = kinds::Dense{}};
  dense.name = "hidden";
  dense.outputs = 300;
  model.chain.push_back(dense);
  dense.name = "head";
  dense.outputs = 0;
  model.chain.push_back(dense);
  return model;
}

using Values = std::map<std::string, std::vector<float>>;

Values drawn(const ModelOptions& model, DType compute = DType::fp32, std::uint64_t seed = 3) {
  PrecisionOptions precision;
  precision.compute = compute;
  ParameterStore store(make_parameter_layout(make_chain(model, precision, 1, false), 1 << 20, 1));
  store.initialize(Execution(), seed, model.initialize);
  Kokkos::fence();
  Values values;
  for (const ParameterSlot& slot : store.layout().slots)
    values[slot.path()] = test::values_of(store.master(slot));
  return values;
}

ModelOptions with(std::vector<InitialRule> rules) {
  ModelOptions model = grid_network();
  model.initialize = std::move(rules);
  return model;
}

struct Moments {
  double mean = 0, square = 0, fourth = 0, largest = 0;
};

/// Moments of the values divided by `scale`.
Moments moments_of(const std::vector<float>& values, double scale) {
  Moments sums;
  for (const float value : values) {
    const double x = value / scale;
    sums.mean += x;
    sums.square += x * x;
    sums.fourth += x * x * x * x;
    sums.largest = std::max(sums.largest, std::abs(x));
  }
  const auto count = static_cast<double>(values.size());
  return {sums.mean / count, sums.square / count, sums.fourth / count, sums.largest};
}

/// Within five standard deviations of the moments' estimates.
void expect_uniform(const std::vector<float>& values, double bound, const std::string& name) {
  const Moments found = moments_of(values, bound);
  const auto count = static_cast<double>(values.size());
  EXPECT_LE(found.largest, 1 + 1e-6) << name;
  EXPECT_GT(found.largest, 1 - 20 / count) << name;
  EXPECT_NEAR(found.mean, 0, 5 / std::sqrt(3 * count)) << name;
  EXPECT_NEAR(found.square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / count)) << name;
}

void expect_normal(const std::vector<float>& values, double deviation, const std::string& name) {
  const Moments found = moments_of(values, deviation);
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(found.mean, 0, 5 / std::sqrt(count)) << name;
  EXPECT_NEAR(found.square, 1, 5 * std::sqrt(2 / count)) << name;
  EXPECT_NEAR(found.fourth, 3, 5 * std::sqrt(96 / count)) << name;
}

struct Fans {
  const char* path;
  double in, out;
};
/// By PyTorch's definition: for a convolution the channels times the points of the kernel.
constexpr Fans fans[] = {
    {"wide/weight", 3 * 9, 64 * 9}, {"narrow/weight", 64, 128}, {"hidden/weight", 128, 300}};

TEST(InitialValues, AreThoseOfGlorotAndBengioAndOfHe) {
  const Values xavier_uniform = drawn(with({{.match = {"*/weight"}, .kind = Initializer::xavier_uniform}}));
  const Values xavier_normal =
      drawn(with({{.match = {"*/weight"}, .kind = Initializer::xavier_normal, .gain = 2.0}}));
  const Values he_uniform = drawn(with({{.match = {"*/weight"}, .kind = Initializer::he_uniform}}));
  const Values he_normal = drawn(with({{.match = {"*/weight"}, .kind = Initializer::he_normal}}));
  const Values he_linear =
      drawn(with({{.match = {"*/weight"}, .kind = Initializer::he_normal, .gain = 1.0}}));
  for (const Fans& fan : fans) {
    expect_uniform(xavier_uniform.at(fan.path), std::sqrt(6 / (fan.in + fan.out)), fan.path);
    expect_normal(xavier_normal.at(fan.path), 2 * std::sqrt(2 / (fan.in + fan.out)), fan.path);
    expect_uniform(he_uniform.at(fan.path), std::sqrt(6 / fan.in), fan.path);
    expect_normal(he_normal.at(fan.path), std::sqrt(2 / fan.in), fan.path);
    expect_normal(he_linear.at(fan.path), std::sqrt(1 / fan.in), fan.path);
  }
}

TEST(InitialValues, AreTheNumbersThatTheDeckSays) {
  const Values values = drawn(with({{.match = {"*/bias"}, .kind = Initializer::constant, .value = 0.25},
                                    {.match = {"wide/weight"}, .kind = Initializer::uniform, .bound = 0.75},
                                    {.match = {"n*/weight"}, .kind = Initializer::normal, .std = 0.125}}));
  for (const char* path : {"wide/bias", "narrow/bias", "hidden/bias", "head/bias"})
    EXPECT_THAT(values.at(path), testing::Each(0.25f)) << path;
  expect_uniform(values.at("wide/weight"), 0.75, "wide/weight");
  expect_normal(values.at("narrow/weight"), 0.125, "narrow/weight");
  EXPECT_EQ(values.at("hidden/weight"), drawn(grid_network()).at("hidden/weight")) << "no rule speaks of it";
}

TEST(InitialValues, OfSeveralRulesTheLastOneCounts) {
  const Values values = drawn(with({{.match = {"*/bias"}, .kind = Initializer::constant, .value = 1},
                                    {.match = {"head/*", "wide/bias"}, .kind = Initializer::constant}}));
  EXPECT_THAT(values.at("narrow/bias"), testing::Each(1.0f));
  EXPECT_THAT(values.at("wide/bias"), testing::Each(0.0f));
  EXPECT_THAT(values.at("head/weight"), testing::Each(0.0f));
}

/// The largest deviation of the shorter side's vectors from orthonormal ones times the gain.
double deviation_from_orthonormal(const std::vector<float>& values, std::int64_t rows, std::int64_t columns,
                                  double gain) {
  const bool by_rows = rows <= columns;
  const std::int64_t vectors = std::min(rows, columns);
  const std::int64_t length = std::max(rows, columns);
  const auto at = [&](std::int64_t vector, std::int64_t k) {
    return static_cast<double>(
        values[static_cast<std::size_t>(by_rows ? vector * columns + k : k * columns + vector)]);
  };
  double worst = 0;
  for (std::int64_t a = 0; a < vectors; ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::int64_t k = 0; k < length; ++k) product += at(a, k) * at(b, k);
      worst = std::max(worst, std::abs(product / (gain * gain) - (a == b ? 1 : 0)));
    }
  }
  return worst;
}

TEST(InitialValues, OrthogonalMatricesAre) {
  const Values values = drawn(with({{.match = {"*/weight"}, .kind = Initializer::orthogonal, .gain = 1.5}}));
  EXPECT_LT(deviation_from_orthonormal(values.at("wide/weight"), 64, 27, 1.5), 1e-6);
  EXPECT_LT(deviation_from_orthonormal(values.at("narrow/weight"), 128, 64, 1.5), 1e-6);
  EXPECT_LT(deviation_from_orthonormal(values.at("hidden/weight"), 300, 128, 1.5), 1e-6);
  EXPECT_LT(deviation_from_orthonormal(values.at("head/weight"), 7, 300, 1.5), 1e-6);
  // A row of a uniform orthogonal matrix is a point of the sphere: every component has mean square 1 /
  // length.
  const Moments found = moments_of(values.at("hidden/weight"), 1.5 / std::sqrt(300));
  EXPECT_NEAR(found.square, 1, 1e-5);
  EXPECT_NEAR(found.mean, 0, 5 / std::sqrt(300.0 * 128));
  EXPECT_NEAR(found.fourth, 3 * 300.0 / 302, 5 * std::sqrt(96 / (300.0 * 128)));
}

/// A square matrix has the eigenvalue distribution of Haar's measure only with correct signs: over seeds, its
/// trace then has mean 0, not a multiple of the root of its size, and mean square 1.
TEST(InitialValues, OrthogonalMatricesAreOfHaarsMeasure) {
  constexpr int draws = 2000;
  constexpr std::int64_t size = 6;
  double sum = 0, squares = 0;
  for (int seed = 0; seed < draws; ++seed) {
    const RandomStream stream(static_cast<std::uint64_t>(seed), RandomPurpose::initial_weights, "square");
    const std::vector<float> matrix = orthogonal_matrix(stream, size, size, 1);
    double trace = 0;
    for (std::int64_t i = 0; i < size; ++i)
      trace += static_cast<double>(matrix[static_cast<std::size_t>(i * (size + 1))]);
    sum += trace;
    squares += trace * trace;
  }
  // Diaconis, Shahshahani (J. Appl. Probab. 31A, 1994): the trace's first two moments are those of a normal
  // number.
  EXPECT_NEAR(sum / draws, 0, 5 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 5 * std::sqrt(2.0 / draws));
}

TEST(InitialValues, DependOnSeedAndLayerAloneWhateverTheTypeAndWhoeverHoldsThem) {
  const std::vector<InitialRule> rules{
      {.match = {"*/weight"}, .kind = Initializer::he_normal},
      {.match = {"narrow/weight", "hidden/weight"}, .kind = Initializer::orthogonal},
      {.match = {"*/bias"}, .kind = Initializer::uniform, .bound = 0.5}};
  const ModelOptions model = with(rules);
  const Values whole = drawn(model);
  EXPECT_EQ(drawn(model, DType::bf16), whole);
  const Values other = drawn(model, DType::fp32, 4);
  for (const auto& [path, values] : whole) EXPECT_NE(values, other.at(path)) << path;
  for (const DType compute : {DType::fp32, DType::bf16}) {
    for (const MasterWeights masters : {MasterWeights::fp32, MasterWeights::none}) {
      PrecisionOptions precision;
      precision.compute = compute;
      precision.masters = compute == DType::fp32 ? MasterWeights::fp32 : masters;
      for (int world = 2; world <= 4; ++world) {
        for (int rank = 0; rank < world; ++rank) {
          ParameterStore store(
              make_parameter_layout(make_chain(model, precision, 1, false), 5000, world, world), rank);
          store.initialize(Execution(), 3, rules);
          Kokkos::fence();
          for (std::size_t i = 0; i < store.layout().slots.size(); ++i) {
            const ParameterSlot& slot = store.layout().slots[i];
            const std::vector<float>& expected = whole.at(slot.path());
            const std::vector<float> read = test::values_of(store.compute_weight(slot));
            for (std::size_t k = 0; k < read.size(); ++k)
              ASSERT_EQ(read[k], test::rounded_to(slot.spec.type, expected[k])) << slot.path();
            const HeldPart held = store.held_master(i);
            if (held.values.empty()) continue;
            const std::vector<float> values = test::values_of(held.values);
            for (std::size_t k = 0; k < values.size(); ++k) {
              const float exact = expected[static_cast<std::size_t>(held.first) + k];
              ASSERT_EQ(values[k], test::rounded_to(held.values.type(), exact)) << slot.path();
            }
          }
        }
      }
    }
  }
}

/// Returns the message about these rules; "": they apply.
std::string message(std::vector<InitialRule> rules, const PrecisionOptions& precision = {}) {
  const ModelOptions model = with(std::move(rules));
  try {
    require_initial_rules_apply(
        make_chain(model, precision, 1, false), model,
        {{"model.initialize.1", "deck.toml:7"}, {"model.initialize.2", "deck.toml:9"}});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST(InitialValues, AConstantBeyondTheTypeOfItsLayerIsRefused) {
  PrecisionOptions half;
  half.compute = DType::fp16;
  const auto constant = [](double value) {
    return std::vector<InitialRule>{{.match = {"*/bias"}, .kind = Initializer::constant, .value = value}};
  };
  EXPECT_TRUE(test::says(message(constant(1e30), half), errors::bad_value,
                         {"deck.toml:7: model.initialize: ", "wide/bias", "fp16", "65504", "1e+30"}));
  EXPECT_THAT(message(constant(-65505), half), testing::HasSubstr("'value' is -65505"));
  EXPECT_EQ(message(constant(-65504), half), "");
  PrecisionOptions wider;
  wider.compute = DType::bf16;
  EXPECT_EQ(message(constant(1e30), wider), "");
  half.rules = {{"head", DType::fp32}};
  std::vector<InitialRule> of_head = constant(1e30);
  of_head.front().match = {"head/bias"};
  EXPECT_EQ(message(of_head, half), "") << "that layer computes in fp32";
}

TEST(InitialValues, RulesThatDoNotApplyAreToldWithTheirLine) {
  EXPECT_EQ(message({{.match = {"*"}, .kind = Initializer::constant}}), "");
  EXPECT_TRUE(test::says(message({{.match = {"*/weight"}}, {.match = {"wid/weight"}}}), errors::unknown_name,
                         {"deck.toml:9: model.initialize: ", "'wid/weight'", " wide/weight, "}));
  EXPECT_TRUE(test::says(message({{.match = {"hidden/*"}, .kind = Initializer::orthogonal}}),
                         errors::bad_value,
                         {"deck.toml:7: model.initialize: ", "hidden/bias", "300", "'kind'"}));
  EXPECT_EQ(message({{.match = {"*"}}, {.match = {"*/bias"}, .kind = Initializer::constant}}), "")
      << "the last one that matches a bias says what a bias can be";
}

}  // namespace mylos::initial_values_test

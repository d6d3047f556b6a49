// Winograd convolutions of any size against seven loops in double.
#include <fmt/format.h>

#include "mylos/kernels/convolution/convolution_winograd.hpp"

#include "kernels/convolution_case.hpp"
#include "support/executions.hpp"

namespace mylos::convolution_winograd_test {

/// The machine's GEMMs, and Winograd convolution for all convolutions that it supports.
std::unique_ptr<EngineSet> winograd_engines() {
  return std::make_unique<EngineSet>(make_gemm_engine({}), nullptr, make_winograd_convolution());
}

GridShape plane(std::int64_t rows, std::int64_t columns, std::int64_t channels) {
  return {{1, rows, columns}, channels};
}

ConvolutionShape filter(const GridShape& input, std::int64_t outputs, const Extents& padding) {
  return {.input = input, .outputs = outputs, .kernel = {1, 3, 3}, .padding = padding};
}

ConvolutionShape beyond_edges(ConvolutionShape shape, PaddingKind kind) {
  shape.padding_kind = kind;
  return shape;
}

std::vector<test::NamedConvolution> filters() {
  ConvolutionShape transposed = filter(plane(6, 7, 9), 5, {0, 1, 0});
  transposed.transposed = true;
  const GridShape volume{{4, 5, 6}, 9};
  return {
      {"OneTile", filter(plane(4, 4, 1), 1, {0, 0, 0}), 1},
      {"OnePoint", filter(plane(1, 1, 3), 2, {0, 1, 1})},
      {"OddPlane", filter(plane(7, 9, 16), 24, {0, 1, 1})},
      {"OddChannels", filter(plane(6, 5, 17), 13, {0, 1, 1})},
      {"ManyChannels", filter(plane(3, 3, 131), 70, {0, 1, 1})},
      {"PaddedTwice", filter(plane(5, 6, 8), 11, {0, 2, 2})},
      {"PaddedUnequally", filter(plane(5, 6, 8), 11, {0, 2, 0})},
      {"ManyTiles", filter(plane(21, 34, 5), 6, {0, 1, 1}), 5},
      {"SliceOfVolume", filter(volume, 10, {0, 1, 1})},
      {"Volume", {.input = volume, .outputs = 10, .kernel = {3, 3, 3}, .padding = {1, 1, 1}}},
      {"VolumeOfTwoPlanes", {.input = volume, .outputs = 10, .kernel = {2, 3, 3}, .padding = {1, 0, 1}}},
      {"VolumePaddedTwice", {.input = volume, .outputs = 7, .kernel = {3, 3, 3}, .padding = {2, 2, 1}}},
      {"Periodic", beyond_edges(filter(plane(6, 7, 9), 5, {0, 1, 1}), PaddingKind::periodic)},
      {"Reflect", beyond_edges(filter(plane(6, 7, 9), 5, {0, 2, 1}), PaddingKind::reflect)},
      {"Transposed", transposed},
  };
}

/// Values of up to 1 that the tile of a result sees contribute to its error, even if they cancel in the
/// result.
test::Sums of_tiles(test::Sums sums, std::int64_t terms_of_point) {
  for (std::size_t i = 0; i < sums.value.size(); ++i) {
    sums.terms[i] = std::max(sums.terms[i], static_cast<double>(terms_of_point));
    sums.magnitude[i] = std::max(sums.magnitude[i], static_cast<double>(terms_of_point));
  }
  return sums;
}

using NamedAndType = std::tuple<test::NamedConvolution, DType>;

class EveryFilter : public testing::TestWithParam<NamedAndType> {
 protected:
  [[nodiscard]] DType type() const { return std::get<1>(GetParam()); }
  [[nodiscard]] const ConvolutionShape& shape() const { return std::get<0>(GetParam()).shape; }

  test::ConvolutionCase case_{shape(), type(), std::get<0>(GetParam()).samples, winograd_engines()};
};

TEST_P(EveryFilter, IsTheConvolutionOfItsDefinition) {
  const auto x = case_.x.values();
  const auto dy = case_.dy.values();
  const auto weights = case_.weights.values();
  const auto bias = case_.bias.values();
  test::Sums y(case_.y.tensor().size()), dx(case_.dx.tensor().size()), dw(case_.weights.tensor().size());
  for (std::int64_t i = 0; i < case_.y.tensor().size(); ++i)
    y.add(i, bias[static_cast<std::size_t>(i % shape().outputs)]);
  test::for_each_product(shape(), case_.samples, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
    const auto of = [](const std::vector<float>& values, std::int64_t i) {
      return static_cast<double>(values[static_cast<std::size_t>(i)]);
    };
    y.add(out, of(x, in) * of(weights, weight));
    dx.add(in, of(dy, out) * of(weights, weight));
    dw.add(weight, of(dy, out) * of(x, in));
  });
  const std::int64_t taps = shape().taps();
  case_.forward();
  test::expect_sums(type(), case_.y.values(), of_tiles(y, taps * shape().input.channels), 1);
  case_.input_gradient();
  test::expect_sums(type(), case_.dx.values(), of_tiles(dx, taps * shape().outputs), 0);
  for (const float before : {0.0f, 1.5f}) {
    const std::vector<float> old(dw.value.size(), before);
    const test::Matrix d_weights(DType::fp32, weight_rows(shape()), weight_columns(shape()), old);
    const test::Matrix d_bias(DType::fp32, 1, shape().outputs);
    case_.weight_gradient(d_weights, d_bias, before != 0);
    test::Sums with_old = dw;
    for (std::int64_t i = 0; i < d_weights.tensor().size(); ++i) with_old.add(i, before);
    test::expect_sums(DType::fp32, d_weights.values(), of_tiles(with_old, 4 * case_.samples), 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryFilter,
                         testing::Combine(testing::ValuesIn(filters()), testing::ValuesIn(test::all_types)),
                         [](const auto& parameter) {
                           return fmt::format("{}_{}", std::get<0>(parameter.param).name,
                                              name_of(std::get<1>(parameter.param)));
                         });

const ConvolutionShape pictures = filter(plane(13, 22, 24), 40, {0, 1, 1});

struct Bits {
  std::vector<std::byte> y, dx, dw;
  friend bool operator==(const Bits&, const Bits&) = default;
};

Bits bits_of(const test::ConvolutionCase& run, const Execution& exec = {}) {
  const test::Matrix d_weights(DType::fp32, weight_rows(run.shape()), weight_columns(run.shape()));
  const test::Matrix d_bias(DType::fp32, 1, run.shape().outputs);
  run.forward(exec);
  run.input_gradient(exec);
  run.weight_gradient(d_weights, d_bias, false, exec);
  return {run.y.bytes(), run.dx.bytes(), d_weights.bytes()};
}

TEST(WinogradConvolution, HasTheSameBitsForAnyNumberOfThreads) {
  const auto of = [](const Execution& exec) {
    return bits_of({pictures, DType::fp32, 7, winograd_engines()}, exec);
  };
  const Bits whole = of({});
  for (const Execution& exec : test::narrower_executions()) EXPECT_EQ(of(exec), whole) << exec.concurrency();
}

TEST(WinogradConvolution, OfASampleIsTheSameWhateverOthersThereAre) {
  const test::ConvolutionCase whole(pictures, DType::fp32, 7, winograd_engines());
  whole.forward();
  whole.input_gradient();
  const auto y = whole.y.values();
  const auto dx = whole.dx.values();
  const test::Matrix own_y(DType::fp32, 1, whole.y.tensor().columns());
  const test::Matrix own_dx(DType::fp32, 1, whole.dx.tensor().columns());
  const Arena workspace("workspace", whole.workspace_bytes);
  const auto expect_row = [](const test::Matrix& row, const std::vector<float>& all, std::int64_t sample) {
    const auto first = all.begin() + sample * row.tensor().columns();
    EXPECT_EQ(row.values(), std::vector<float>(first, first + row.tensor().columns())) << sample;
  };
  for (std::int64_t sample = 0; sample < 7; ++sample) {
    whole.convolution.forward({}, *whole.engines, whole.x.tensor().row_range(sample, 1), whole.weights,
                              whole.bias, own_y, workspace.data());
    whole.convolution.input_gradient({}, *whole.engines, whole.dy.tensor().row_range(sample, 1),
                                     whole.weights, own_dx, workspace.data());
    expect_row(own_y, y, sample);
    expect_row(own_dx, dx, sample);
  }
}

/// With the machine's engine: padded samples are copied, some at a time.
TEST(WinogradConvolution, OfManyPaddedGridsIsThatByGemm) {
  constexpr std::int64_t samples = 40;  // some 35 of them fit into what is gathered at a time
  for (const auto kind : {PaddingKind::zero, PaddingKind::periodic, PaddingKind::reflect}) {
    const ConvolutionShape shape = beyond_edges(filter(plane(32, 32, 24), 32, {0, 1, 1}), kind);
    const test::ConvolutionCase chosen(shape, DType::fp32, samples);
    const test::ConvolutionCase by_gemm(shape, DType::fp32, samples, test::convolution_engines().back());
    const auto expect_near = [](const std::vector<float>& found, const std::vector<float>& expected,
                                double terms) {
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i], expected[i], 2 * test::summing_error(terms, terms)) << i;
    };
    chosen.forward();
    by_gemm.forward();
    expect_near(chosen.y.values(), by_gemm.y.values(), 9 * 24);
    chosen.input_gradient();
    by_gemm.input_gradient();
    expect_near(chosen.dx.values(), by_gemm.dx.values(), 9 * 32);
    const test::Matrix dw(DType::fp32, weight_rows(shape), weight_columns(shape));
    const test::Matrix dw_by_gemm(DType::fp32, weight_rows(shape), weight_columns(shape));
    chosen.weight_gradient(dw, {}, false);
    by_gemm.weight_gradient(dw_by_gemm, {}, false);
    expect_near(dw.values(), dw_by_gemm.values(), samples * 32 * 32);
  }
}

LibraryPass pass_of(const ConvolutionShape& shape) {
  return {.pass = ConvolutionPass::apply, .map = ConvolutionMap(shape)};
}

TEST(WinogradConvolution, TakesFiltersOfThreeByThreeAlone) {
  const auto filtering = make_winograd_convolution();
  const auto takes = [&](const auto& change) {
    LibraryPass pass = pass_of(pictures);
    change(pass);
    return filtering->samples_at_a_time(pass) > 0;
  };
  EXPECT_TRUE(takes([](LibraryPass&) {}));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.type = DType::bf16; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.relu = true; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.map.kernel = {1, 3, 5}; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.map.stride = {1, 2, 1}; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.map.dilation = {1, 1, 2}; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.map.groups = 2; }));
  EXPECT_FALSE(takes([](LibraryPass& pass) { pass.map.padding = {0, 3, 1}; }));
}

TEST(WinogradConvolution, IsChosenWhereItsGemmsOutweighItsTransforms) {
  const auto engines = make_engines({});
  if (engines->libraries().convolution == nullptr) GTEST_SKIP() << "no library of convolutions here";
  const auto filters = [&](std::int64_t inputs, std::int64_t outputs, std::int64_t points,
                           ConvolutionPass of) {
    LibraryPass pass = pass_of(filter(plane(points, points, inputs), outputs, {0, 1, 1}));
    pass.pass = of;
    return engines->libraries().convolution->uses_winograd(pass);
  };
  for (const auto of : {ConvolutionPass::apply, ConvolutionPass::adjoint, ConvolutionPass::weights}) {
    EXPECT_TRUE(filters(32, 64, 28, of));
    EXPECT_FALSE(filters(1, 64, 28, of));
    EXPECT_FALSE(filters(64, 10, 28, of));
    EXPECT_FALSE(filters(64, 64, 2, of));
  }
}

}  // namespace mylos::convolution_winograd_test

// Convolutions, every option in every type, against seven loops in double; those with edges by axis against
// the convolution of the extended field.
#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/kernels/convolution/convolution.hpp"

#include "kernels/convolution_case.hpp"
#include "kernels/convolutions_by_axis.hpp"

namespace mylos::convolution_test {

class EveryConvolution
    : public testing::TestWithParam<std::tuple<test::NamedConvolution, DType, std::string>> {
 protected:
  DType type() const { return std::get<1>(GetParam()); }
  const ConvolutionShape& shape() const { return std::get<0>(GetParam()).shape; }
  test::ConvolutionCase case_{shape(), type(), std::get<0>(GetParam()).samples, std::get<2>(GetParam())};
};

TEST_P(EveryConvolution, ForwardIsTheSumOfItsDefinition) {
  case_.forward();
  const auto x = case_.x.values();
  const auto weights = case_.weights.values();
  const auto bias = case_.bias.values();
  test::Sums y(case_.y.tensor().size());
  for (std::int64_t i = 0; i < case_.y.tensor().size(); ++i)
    y.add(i, bias[static_cast<std::size_t>(i % shape().outputs)]);
  test::for_each_product(shape(), case_.samples, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
    y.add(out,
          static_cast<double>(x[static_cast<std::size_t>(in)]) * weights[static_cast<std::size_t>(weight)]);
  });
  test::expect_sums(type(), case_.y.values(), y, 1);
}

TEST_P(EveryConvolution, InputGradientIsTheAdjoint) {
  case_.input_gradient();
  const auto dy = case_.dy.values();
  const auto weights = case_.weights.values();
  test::Sums dx(case_.dx.tensor().size());
  test::for_each_product(shape(), case_.samples, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
    dx.add(in, static_cast<double>(dy[static_cast<std::size_t>(out)]) *
                   weights[static_cast<std::size_t>(weight)]);
  });
  test::expect_sums(type(), case_.dx.values(), dx, 0);
}

TEST_P(EveryConvolution, WeightAndBiasGradientsAreSumsOverThePoints) {
  const auto x = case_.x.values();
  const auto dy = case_.dy.values();
  test::Sums sums(case_.weights.tensor().size());
  test::for_each_product(shape(), case_.samples, [&](std::int64_t in, std::int64_t weight, std::int64_t out) {
    sums.add(weight,
             static_cast<double>(dy[static_cast<std::size_t>(out)]) * x[static_cast<std::size_t>(in)]);
  });
  test::Sums bias_sums(shape().outputs);
  for (std::size_t i = 0; i < dy.size(); ++i)
    bias_sums.add(static_cast<std::int64_t>(i) % shape().outputs, dy[i]);
  for (const DType gradient : {DType::fp32, type()}) {
    const test::Matrix d_weights(gradient, weight_rows(shape()), weight_columns(shape()));
    const test::Matrix d_bias(gradient, 1, shape().outputs);
    case_.weight_gradient(d_weights, d_bias, false);
    test::expect_sums(gradient, d_weights.values(), sums, 0);
    test::expect_sums(gradient, d_bias.values(), bias_sums, 0);
  }
}

TEST_P(EveryConvolution, GradientsOfWeightsAreAddedToWhatIsThere) {
  for (const DType gradient : {DType::fp32, type()}) {
    const auto before = test::random_values(gradient, case_.weights.tensor().size(), -8, 8, 5);
    const auto bias_before = test::random_values(gradient, shape().outputs, -8, 8, 6);
    const test::Matrix alone(DType::fp32, weight_rows(shape()), weight_columns(shape()));
    const test::Matrix bias_alone(DType::fp32, 1, shape().outputs);
    const test::Matrix added(gradient, weight_rows(shape()), weight_columns(shape()), before);
    const test::Matrix bias_added(gradient, 1, shape().outputs, bias_before);
    case_.weight_gradient(alone, bias_alone, false);
    case_.weight_gradient(added, bias_added, true);
    const double terms = static_cast<double>(case_.samples * case_.convolution.output().points());
    const auto expect = [&](const std::vector<float>& found, const std::vector<float>& more,
                            const std::vector<float>& old) {
      for (std::size_t i = 0; i < found.size(); ++i) {
        const double expected = static_cast<double>(more[i]) + old[i];
        // Sums that start from the old value differ by the rounding of every partial sum.
        const double size = std::abs(old[i]) + terms;
        // A device's library may round what it adds to 16 bits.
        const double rounded_first = memory_is_host ? 0 : test::rounding_error(gradient, more[i]);
        ASSERT_NEAR(
            found[i], expected,
            test::rounding_error(gradient, expected) + rounded_first + 2 * test::summing_error(terms, size));
      }
    };
    expect(added.values(), alone.values(), before);
    expect(bias_added.values(), bias_alone.values(), bias_before);
  }
}

std::string name_of_case(const testing::TestParamInfo<EveryConvolution::ParamType>& parameter) {
  return fmt::format("{}_{}_{}", std::get<0>(parameter.param).name, name_of(std::get<1>(parameter.param)),
                     std::get<2>(parameter.param));
}

INSTANTIATE_TEST_SUITE_P(Options, EveryConvolution,
                         testing::Combine(testing::ValuesIn(test::convolutions()),
                                          testing::ValuesIn(test::all_types),
                                          testing::ValuesIn(test::convolution_engines())),
                         name_of_case);

INSTANTIATE_TEST_SUITE_P(Edges, EveryConvolution,
                         testing::Combine(testing::ValuesIn(test::convolutions_by_axis()),
                                          testing::ValuesIn(test::all_types),
                                          testing::ValuesIn(test::convolution_engines())),
                         name_of_case);

constexpr ConvolutionShape of_pictures = {
    .input = {{1, 20, 21}, 8}, .outputs = 12, .kernel = {1, 3, 3}, .padding = {0, 1, 1}};

TEST(Convolution, ByGemmHasTheSameBitsForAnyNumberOfThreads) {
  for (const auto kind : {PaddingKind::zero, PaddingKind::reflect}) {
    ConvolutionShape shape = of_pictures;
    shape.padding_kind = kind;
    const test::ConvolutionCase pictures(shape, DType::fp16, 5, test::convolution_engines().back());
    const test::Matrix d_weights(DType::fp16, weight_rows(shape), weight_columns(shape));
    const test::Matrix d_bias(DType::fp32, 1, shape.outputs);
    const auto run = [&](const Execution& exec) {
      pictures.forward(exec);
      pictures.input_gradient(exec);
      pictures.weight_gradient(d_weights, d_bias, false, exec);
      return std::tuple(pictures.y.bytes(), pictures.dx.bytes(), d_weights.bytes(), d_bias.bytes());
    };
    const auto all_threads = run(Execution{});
    for (const Execution& exec : test::narrower_executions())
      EXPECT_EQ(run(exec), all_threads) << exec.concurrency();
  }
}

TEST(Convolution, OfOneSampleAtATimeIsThatOfTheBatch) {
  const test::ConvolutionCase whole(of_pictures, DType::fp32, 6);
  whole.forward();
  const auto together = whole.y.values();
  const test::Matrix y(DType::fp32, 1, whole.y.tensor().columns());
  const Arena workspace("workspace", whole.workspace_bytes);
  for (std::int64_t sample = 0; sample < 6; ++sample) {
    whole.convolution.forward(Execution{}, *whole.engines, whole.x.tensor().row_range(sample, 1),
                              whole.weights, whole.bias, y, workspace.data());
    const auto apart = y.values();
    for (std::size_t i = 0; i < apart.size(); ++i)
      ASSERT_NEAR(apart[i], together[static_cast<std::size_t>(sample) * apart.size() + i], 1e-4);
  }
}

TEST(Convolution, WithoutBiasIsItsLinearPart) {
  for (const std::int64_t groups : {1, 4}) {
    ConvolutionShape shape = of_pictures;
    shape.groups = groups;
    const test::ConvolutionCase pictures(shape, DType::fp32, 2);
    pictures.forward();
    const auto with = pictures.y.values();
    const auto bias = pictures.bias.values();
    const Arena workspace("workspace", pictures.workspace_bytes);
    pictures.convolution.forward(Execution{}, *pictures.engines, pictures.x, pictures.weights, {}, pictures.y,
                                 workspace.data());
    const auto without = pictures.y.values();
    for (std::size_t i = 0; i < with.size(); ++i)
      ASSERT_NEAR(with[i], without[i] + bias[i % bias.size()], 1e-5 * (1 + std::abs(with[i])));
  }
}

TEST(Convolution, RefusesTensorsOfOtherShapesOrTypes) {
  const test::ConvolutionCase pictures(of_pictures, DType::fp32, 2);
  const test::Matrix narrow(DType::fp32, 2, 7);
  const test::Matrix other(DType::bf16, 2, of_pictures.input.columns());
  const auto forward = [&](const Tensor& x) {
    pictures.convolution.forward(Execution{}, *pictures.engines, x, pictures.weights, pictures.bias,
                                 pictures.y, nullptr);
  };
  EXPECT_THROW(forward(narrow), Error);
  EXPECT_THROW(forward(other), Error);
  EXPECT_THROW(Convolution(of_pictures, DType::int32), Error);
}

TEST(ConvolutionWorkspace, OfAMicroBatchServesARaggedOneAndIsBounded) {
  const std::unique_ptr<EngineSet> engines = make_engines({});
  for (const auto& named : test::convolutions()) {
    for (const DType type : test::all_types) {
      const Convolution convolution(named.shape, type);
      std::size_t before = 0;
      for (std::int64_t samples = 1; samples < 70; ++samples) {
        const std::size_t bytes = convolution.workspace_bytes(*engines, samples);
        ASSERT_GE(bytes, before) << named.name << ", " << samples << " samples";
        before = bytes;
      }
    }
  }
  // Once the gathered rows are at their limit, more samples need no more workspace.
  const Convolution pictures(of_pictures, DType::bf16);
  EXPECT_EQ(pictures.workspace_bytes(*engines, 1 << 20), pictures.workspace_bytes(*engines, 1 << 24));
}

/// Returns the values of a field and of the points beyond its edges, by index maps along one axis after the
/// other, in this order.
std::vector<float> extended(std::vector<float> values, GridShape grid, std::int64_t samples,
                            const Extents& padding, const PaddingKinds& kinds,
                            const std::array<std::size_t, 3>& order) {
  const int around = kinds.axis_of(PaddingKind::periodic);
  Extents offset = {0, 0, 0};  // of what was extended before
  const GridShape inner = grid;
  for (const std::size_t axis : order) {
    GridShape wider = grid;
    wider.extent[axis] += 2 * padding[axis];
    std::vector<float> result(static_cast<std::size_t>(samples * wider.columns()), 0.0f);
    for (std::int64_t i = 0; i < samples * wider.points(); ++i) {
      const std::int64_t sample = i / wider.points();
      Extents at = {i / (wider.extent[1] * wider.extent[2]) % wider.extent[0],
                    i / wider.extent[2] % wider.extent[1], i % wider.extent[2]};
      at[axis] -= padding[axis];
      const bool beyond = at[axis] < 0 || at[axis] >= grid.extent[axis];
      at[axis] = test::point_of_axis(at[axis], grid.extent[axis], kinds[axis]);
      if (at[axis] < 0) continue;
      if (beyond && kinds[axis] == PaddingKind::pole) {
        const auto meridians = static_cast<std::size_t>(around);
        const std::int64_t points = inner.extent[meridians];
        const std::int64_t turned = (at[meridians] - offset[meridians] + points / 2 + points) % points;
        at[meridians] = turned + offset[meridians];
      }
      const std::int64_t from =
          ((sample * grid.extent[0] + at[0]) * grid.extent[1] + at[1]) * grid.extent[2] + at[2];
      for (std::int64_t channel = 0; channel < grid.channels; ++channel)
        result[static_cast<std::size_t>(i * grid.channels + channel)] =
            values[static_cast<std::size_t>(from * grid.channels + channel)];
    }
    offset[axis] = padding[axis];
    grid = wider;
    values = std::move(result);
  }
  return values;
}

TEST(ConvolutionEdges, OfTwoAxesHaveOneCorner) {
  const GridShape grid{{3, 4, 6}, 2};
  const std::vector<float> values = test::random_values(DType::fp32, 2 * grid.columns(), -1, 1, 7);
  constexpr auto zero = PaddingKind::zero;
  constexpr auto periodic = PaddingKind::periodic;
  for (const PaddingKinds& kinds : {PaddingKinds(zero, PaddingKind::pole, periodic),
                                    PaddingKinds(PaddingKind::reflect, PaddingKind::pole, periodic),
                                    PaddingKinds(PaddingKind::reflect, zero, periodic)}) {
    const auto in_order = [&](const std::array<std::size_t, 3>& order) {
      return extended(values, grid, 2, {1, 2, 3}, kinds, order);
    };
    EXPECT_EQ(in_order({0, 1, 2}), in_order({2, 1, 0}));
    EXPECT_EQ(in_order({0, 1, 2}), in_order({1, 2, 0}));
  }
}

class ConvolutionWithEdges : public testing::TestWithParam<test::NamedConvolution> {};

TEST_P(ConvolutionWithEdges, IsThatOfTheExtendedField) {
  const auto& [name, shape, samples] = GetParam();
  if (shape.transposed) return;  // reads a grid without edges
  const std::string engine = test::convolution_engines().back();
  const test::ConvolutionCase with(shape, DType::fp32, samples, engine);
  ConvolutionShape without = shape;
  for (std::size_t axis = 0; axis < 3; ++axis) without.input.extent[axis] += 2 * shape.padding[axis];
  without.padding = {0, 0, 0};
  without.padding_kind = PaddingKind::zero;
  const test::ConvolutionCase of_field(without, DType::fp32, samples, engine);
  set_values(of_field.x,
             extended(with.x.values(), shape.input, samples, shape.padding, shape.padding_kind, {1, 2, 0}));
  with.forward();
  of_field.forward();
  EXPECT_EQ(with.y.bytes(), of_field.y.bytes());
  const test::Matrix d_weights(DType::fp32, weight_rows(shape), weight_columns(shape));
  const test::Matrix of_extended(DType::fp32, weight_rows(shape), weight_columns(shape));
  with.weight_gradient(d_weights, {}, false);
  of_field.weight_gradient(of_extended, {}, false);
  EXPECT_EQ(d_weights.bytes(), of_extended.bytes());
}

TEST_P(ConvolutionWithEdges, HasItsAdjoint) {
  for (const std::string& engine : test::convolution_engines()) {
    const test::ConvolutionCase both(GetParam().shape, DType::fp32, GetParam().samples, engine);
    const Arena workspace("workspace", both.workspace_bytes);
    both.convolution.forward(Execution{}, *both.engines, both.x, both.weights, {}, both.y, workspace.data());
    both.input_gradient();
    const auto product = [](const std::vector<float>& a, const std::vector<float>& b) {
      double sum = 0;
      for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
      return sum;
    };
    const double forward = product(both.y.values(), both.dy.values());
    EXPECT_NEAR(forward, product(both.x.values(), both.dx.values()), 1e-5 * (1 + std::abs(forward)));
  }
}

INSTANTIATE_TEST_SUITE_P(ByAxis, ConvolutionWithEdges, testing::ValuesIn(test::convolutions_by_axis()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(ConvolutionEdges, OfAllAxesHaveTheBitsOfThatWord) {
  for (const auto kind : {PaddingKind::zero, PaddingKind::periodic, PaddingKind::reflect}) {
    ConvolutionShape shape = {
        .input = {{1, 8, 9}, 16}, .outputs = 16, .kernel = {1, 3, 3}, .padding = {0, 1, 1}};
    shape.padding_kind = kind;
    const test::ConvolutionCase by_word(shape, DType::bf16, 3);
    shape.padding_kind = {PaddingKind::zero, kind, kind};
    const test::ConvolutionCase by_axis(shape, DType::bf16, 3);
    EXPECT_EQ(by_word.workspace_bytes, by_axis.workspace_bytes);
    by_word.forward();
    by_axis.forward();
    EXPECT_EQ(by_word.y.bytes(), by_axis.y.bytes());
    by_word.input_gradient();
    by_axis.input_gradient();
    EXPECT_EQ(by_word.dx.bytes(), by_axis.dx.bytes());
  }
}

}  // namespace mylos::convolution_test

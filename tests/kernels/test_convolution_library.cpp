// The convolutions that an engine's library computes, and runs of fewer samples than were planned.
#include "kernels/convolution_case.hpp"
#include "kernels/refusing_convolutions.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/kernels/convolution/convolution_by_library.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos::convolution_library_test {

constexpr ConvolutionShape pictures = {
    .input = {{1, 12, 11}, 16}, .outputs = 32, .kernel = {1, 3, 3}, .padding = {0, 1, 1}};

class ConvolutionLibrary : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (engines_->libraries().convolution == nullptr) GTEST_SKIP() << "no library of convolutions here";
  }
  [[nodiscard]] bool serves(const ConvolutionShape& shape, ConvolutionPass pass) const {
    return ConvolutionByLibrary::find(engines_->libraries(), shape, pass, GetParam()).has_value();
  }

  std::unique_ptr<EngineSet> engines_ = make_engines({});
};

TEST_P(ConvolutionLibrary, HasThoseThatAreNotGemmsWhateverLiesAround) {
  if (instructions_in_use() == Instructions::baseline) GTEST_SKIP() << "oneDNN has reference code only";
  ConvolutionShape periodic = pictures;
  periodic.padding_kind = PaddingKind::periodic;
  for (const auto pass : {ConvolutionPass::apply, ConvolutionPass::adjoint, ConvolutionPass::weights}) {
    EXPECT_TRUE(serves(pictures, pass));
    EXPECT_EQ(serves(periodic, pass), memory_is_host);
  }
  periodic.input.channels = 32;
  EXPECT_EQ(serves(periodic, ConvolutionPass::adjoint), memory_is_host);
  const bool as_floats =
      GetParam() == DType::fp32 || !engines_->libraries().convolution->multiplies(GetParam());
  EXPECT_EQ(serves(periodic, ConvolutionPass::weights), memory_is_host && as_floats)
      << "GEMMs of many channels are faster, unless it filters";
  const ConvolutionShape one_point = {.input = {{1, 12, 11}, 16}, .outputs = 32};
  EXPECT_FALSE(serves(one_point, ConvolutionPass::apply));
  EXPECT_FALSE(serves(one_point, ConvolutionPass::adjoint));
  ConvolutionShape depthwise = pictures;
  depthwise.outputs = depthwise.groups = 16;
  EXPECT_EQ(serves(depthwise, ConvolutionPass::adjoint), memory_is_host);  // a device has kernels of ours
  EXPECT_FALSE(serves(depthwise, ConvolutionPass::weights));
}

TEST_P(ConvolutionLibrary, HasNoGradientOfFewChannelsSeenInSteps) {
  if (!memory_is_host) GTEST_SKIP() << "of oneDNN, which writes behind its scratch memory";
  for (const std::int64_t channels : {1, 5, 12}) {
    const ConvolutionShape steps = {
        .input = {{1, 10, 14}, channels}, .outputs = 8, .kernel = {1, 1, 1}, .stride = {1, 2, 2}};
    EXPECT_FALSE(serves(steps, ConvolutionPass::weights)) << channels;
  }
}

TEST_P(ConvolutionLibrary, RefusesNoneOfChannelsInMultiplesOfEight) {
  if (GetParam() == DType::fp32 && !memory_is_host) GTEST_SKIP() << "of floats it may refuse some";
  const test::ConvolutionCase whole(pictures, GetParam(), 13);
  const test::Matrix d_weights(DType::fp32, weight_rows(pictures), weight_columns(pictures));
  whole.forward();
  whole.input_gradient();
  whole.weight_gradient(d_weights, {}, false);
  EXPECT_EQ(whole.engines->take_refusals(), "");
}

TEST_P(ConvolutionLibrary, ComputesFewerSamplesInTheWorkspaceOfMore) {
  for (const auto kind : {PaddingKind::zero, PaddingKind::periodic, PaddingKind::reflect}) {
    ConvolutionShape shape = pictures;
    shape.padding_kind = kind;
    const test::ConvolutionCase whole(shape, GetParam(), 13);
    whole.forward();
    whole.input_gradient();
    const auto y = whole.y.values();
    const auto dx = whole.dx.values();
    const Convolution& convolution = whole.convolution;
    const Arena workspace("workspace", whole.workspace_bytes);
    for (const std::int64_t samples : {1, 3, 7, 12}) {
      ASSERT_LE(convolution.workspace_bytes(*engines_, samples), whole.workspace_bytes);
      const Tensor fewer_y = whole.y.tensor().row_range(0, samples);
      const Tensor fewer_dx = whole.dx.tensor().row_range(0, samples);
      convolution.forward({}, *engines_, whole.x.tensor().row_range(0, samples), whole.weights, whole.bias,
                          fewer_y, workspace.data());
      convolution.input_gradient({}, *engines_, whole.dy.tensor().row_range(0, samples), whole.weights,
                                 fewer_dx, workspace.data());
      const auto expect_same = [&](const std::vector<float>& found, const std::vector<float>& expected) {
        for (std::size_t i = 0; i < found.size(); ++i) {
          ASSERT_NEAR(found[i], expected[i], 2 * test::rounding_error(GetParam(), expected[i]) + 1e-4)
              << samples << " samples, " << i;
        }
      };
      expect_same(test::values_of(fewer_y), {y.begin(), y.begin() + fewer_y.size()});
      expect_same(test::values_of(fewer_dx), {dx.begin(), dx.begin() + fewer_dx.size()});
    }
  }
}

TEST_P(ConvolutionLibrary, LeavesToGemmsWhatItRefusesMidway) {
  constexpr std::int64_t samples = 5;  // in three runs
  const test::ConvolutionCase whole(pictures, GetParam(), samples);
  const auto expect_same = [](const std::vector<float>& found, const std::vector<float>& expected, DType type,
                              float before = 0) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      // A device's library may round what it adds to 16 bits.
      const double rounded_first =
          memory_is_host ? 0 : test::rounding_error(type, std::abs(expected[i]) + before);
      ASSERT_NEAR(found[i], expected[i], 2 * test::rounding_error(type, expected[i]) + rounded_first + 2e-4)
          << i;
    }
  };
  const std::vector<float> before(static_cast<std::size_t>(whole.weights.tensor().size()), 1.0f);
  for (const int runs : {0, 1, 2, 1000}) {
    SCOPED_TRACE(runs);
    test::RefusingEngines forward(runs), backward(runs);
    const Arena workspace("workspace", whole.convolution.workspace_bytes(forward, samples));
    whole.forward();
    const auto y = whole.y.values();
    whole.convolution.forward({}, forward, whole.x, whole.weights, whole.bias, whole.y, workspace.data());
    expect_same(whole.y.values(), y, GetParam());
    whole.input_gradient();
    const auto dx = whole.dx.values();
    whole.convolution.input_gradient({}, backward, whole.dy, whole.weights, whole.dx, workspace.data());
    expect_same(whole.dx.values(), dx, GetParam());
    for (const DType gradient : {DType::fp32, GetParam()}) {
      const test::Matrix own(gradient, weight_rows(pictures), weight_columns(pictures), before);
      const test::Matrix found(gradient, weight_rows(pictures), weight_columns(pictures), before);
      whole.weight_gradient(own, {}, true);
      test::RefusingEngines of_weights(runs);
      whole.convolution.weight_gradient({}, of_weights, whole.x, whole.dy, found, {}, true, workspace.data());
      expect_same(found.values(), own.values(), gradient, before[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ConvolutionLibrary, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

}  // namespace mylos::convolution_library_test

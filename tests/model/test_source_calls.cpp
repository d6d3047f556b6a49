#include "mylos/model/source/source_calls.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "model/source_networks.hpp"

namespace mylos::source_calls_test {

using test::linear;
using test::residual_network;
using testing::ElementsAre;

std::vector<std::string> routines(const SourcePass& pass) {
  std::vector<std::string> names;
  for (const SourceCall& call : pass.calls) names.push_back(call.routine);
  return names;
}

std::vector<SourceAddress> addresses(const SourceCall& call) {
  std::vector<SourceAddress> found;
  for (const SourceArgument& argument : call.arguments) {
    if (const auto* address = std::get_if<SourceAddress>(&argument)) found.push_back(*address);
  }
  return found;
}

TEST(SourceCalls, ActivationsAndSumsRunInPlaceAndBuffersAreReused) {
  const SourcePlan plan = plan_source(residual_network(), {}, false);
  EXPECT_THAT(routines(plan.forward), ElementsAre("linear", "apply_tanh", "linear", "add", "few_outputs"));
  ASSERT_EQ(plan.forward.buffers.size(), 2U);
  EXPECT_EQ(plan.forward.buffer_width(), 32);
  EXPECT_TRUE(plan.tape_forward.calls.empty());
}

TEST(SourceCalls, NoRoutineReadsTheBufferThatItWrites) {
  const SourcePlan plan = plan_source(residual_network(), {}, true);
  for (const SourcePass* pass : {&plan.forward, &plan.tape_forward, &plan.tangent, &plan.pullback}) {
    for (const SourceCall& call : pass->calls) {
      std::map<std::pair<std::string, std::int64_t>, int> uses;
      for (const SourceAddress& address : addresses(call)) {
        EXPECT_EQ(++uses[std::pair(address.buffer, address.offset)], 1) << call.routine;
      }
    }
  }
}

TEST(SourceCalls, AValueWithTwoReadersIsNotOverwrittenByTheFirst) {
  SourceNetwork network = residual_network();
  network.operations[3].kind = SourceAdd{1, {}};  // the value before tanh
  const SourcePlan plan = plan_source(network, {}, false);
  EXPECT_THAT(routines(plan.forward),
              ElementsAre("linear", "copy", "apply_tanh", "linear", "add", "few_outputs"));
}

TEST(SourceCalls, TheSecondGradientOfAValueIsAddedToTheFirst) {
  const SourcePlan plan = plan_source(residual_network(), {}, true);
  // The sum passes its gradient to both values; that of "second" arrives later and is added.
  EXPECT_THAT(routines(plan.pullback), ElementsAre("sum_of_rows", "copy", "copy", "row_products", "add",
                                                   "tanh_slope", "row_products"));
  EXPECT_THAT(routines(plan.tangent),
              ElementsAre("sum_of_rows", "tanh_slope", "sum_of_rows", "copy", "add", "row_products"));
  EXPECT_EQ(plan.tape, 64);
}

TEST(SourceCalls, AConcatenationCopiesBothValuesToTheirColumns) {
  SourceNetwork network;
  network.inputs = 2;
  network.operations = {{"both", 0, 3, linear(2, 3)}, {"all", 1, 5, SourceConcat{0, true}}};
  const SourcePlan plan = plan_source(network, {}, false);
  ASSERT_THAT(routines(plan.forward), ElementsAre("few_outputs", "copy", "copy"));
  EXPECT_EQ(addresses(plan.forward.calls[1])[1].offset, 2);
  EXPECT_EQ(addresses(plan.forward.calls[2])[1].offset, 0);
}

TEST(SourceCalls, AConvolutionIsADenseLayerOfEachWindowAndANormIsCalledForEachPoint) {
  SourceNetwork network;
  network.inputs = 12;
  const SourceWindows windows{.points = 6, .channels = 2, .count = 6, .taps = 3, .padding = 1};
  const std::vector<float> ones(16, 1.0F);
  network.operations = {{"conv", 0, 36, SourceGather{windows}},
                        {"conv", 1, 96, linear(6, 16), 6},
                        {"norm", 2, 96, SourceNorm{NormType::rmsnorm, 1e-5F, ones, {}}, 6}};
  const SourcePlan plan = plan_source(network, {}, true);
  ASSERT_THAT(routines(plan.forward), ElementsAre("gather", "linear", "copy", "rmsnorm"));
  EXPECT_TRUE(plan.forward.calls[1].is_block_of_points());
  EXPECT_EQ(plan.forward.calls[3].points, 6);
  EXPECT_EQ(addresses(plan.forward.calls[3])[0].step, 16);
  EXPECT_THAT(routines_of(plan.forward), testing::Contains("linear_block"));
  EXPECT_THAT(routines(plan.pullback),
              ElementsAre("multiply", "rmsnorm_slope", "row_products", "gather_pullback"));
}

TEST(SourceCalls, ConstantsOfLayersThatOnlyDifferInCaseHaveDifferentNames) {
  SourceNetwork network;
  network.inputs = 2;
  network.operations = {
      {"a.b", 0, 2, linear(2, 2)}, {"A_B", 1, 2, linear(2, 2)}, {"1st", 2, 2, linear(2, 2)}};
  const SourcePlan plan = plan_source(network, {"a_b_bias"}, false);
  std::vector<std::string> names;
  for (const SourceConstant& constant : plan.constants) names.push_back(constant.name);
  EXPECT_THAT(names, ElementsAre("a_b_weight", "a_b_2_bias", "a_b_2_weight", "a_b_3_bias", "layer_1st_weight",
                                 "layer_1st_bias"));
  EXPECT_EQ(plan.numbers(), 18);
}

}  // namespace mylos::source_calls_test

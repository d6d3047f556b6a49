// What is advised, on made-up measurements; and the largest micro-batch against every smaller and larger one.
#include "mylos/train/adapt/type_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/errors/memory.hpp"
#include "mylos/train/plan/memory_plan.hpp"
#include "support/refusal.hpp"
#include "train/memory_world.hpp"

namespace mylos::type_advice_test {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::int64_t steps = 20;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

/// Steady, with half the bytes in 16 bits.
TrialResult tried(DType type, double step_s, double loss,
                  RecomputeMode recompute = RecomputeMode::automatic) {
  const std::size_t bytes =
      (type == DType::fp32 ? 2 : 1) * (recompute == RecomputeMode::all ? 20 : 100) * mebibyte;
  return {.setting = {type, recompute},
          .step_s = {step_s, 1.01 * step_s, 0.99 * step_s},
          .losses = {9, 9, loss, loss},
          .rank_bytes = 50 * mebibyte + bytes,
          .activation_bytes = bytes,
          .plan = "every block keeps all"};
}

TrialResult refused(DType type, RecomputeMode recompute = RecomputeMode::automatic) {
  return {.setting = {type, recompute},
          .obstacle = "the run does not fit its budget of 1 GiB",
          .code = ExitCode::does_not_fit,
          .cause = errors::does_not_fit};
}

/// Fast 16-bit types, as deck and machine often have them.
std::vector<TrialResult> usual_results() {
  return {tried(DType::fp32, 0.1, 2),      tried(DType::fp32, 0.13, 2, RecomputeMode::all),
          tried(DType::bf16, 0.05, 2.004), tried(DType::bf16, 0.065, 2.004, RecomputeMode::all),
          tried(DType::fp16, 0.07, 2),     tried(DType::fp16, 0.09, 2, RecomputeMode::all)};
}

TEST(TypeAdvice, TakesTheFastestTypeAndSaysWhatItSavesAndCosts) {
  const TypeAdvice advice = advise(usual_results(), {}, steps);
  EXPECT_EQ(advice.chosen, 2u);
  EXPECT_EQ(advice.verdict, "take bf16 (every block keeps all): bf16 saves 50 % of float's time");
  EXPECT_THAT(
      advice.reasons,
      Contains("bf16: a step takes 50 ms, in fp32 100 ms; a rank takes 40 % less memory, its activations "
               "50 % less; the loss of 20 steps is +0.2 % from float's"));
  EXPECT_THAT(advice.reasons, Contains("fp16: a step takes 70 ms, 40 % more than bf16's"));
  EXPECT_THAT(advice.reasons,
              Contains(HasSubstr("memory.recompute = \"all\" in bf16: a step takes 30 % more time")));
  EXPECT_THAT(advice.reasons, Not(Contains(HasSubstr("--rounds"))));
}

TEST(TypeAdvice, StaysInFloatWhereLessThanATenthIsGained) {
  std::vector<TrialResult> results = usual_results();
  results[2] = tried(DType::bf16, 0.095, 2);
  results[4] = tried(DType::fp16, 0.12, 2);
  const TypeAdvice advice = advise(results, {}, steps);
  EXPECT_EQ(advice.chosen, 0u);
  EXPECT_THAT(advice.verdict, HasSubstr("stay in fp32"));
  EXPECT_THAT(advice.verdict, HasSubstr("bf16 would save 5 % of float's time, less than the 10 %"));
  EXPECT_THAT(advice.reasons, Contains("bf16: a step takes 95 ms, 5 % less than fp32's"));
  EXPECT_THAT(advice.reasons, Contains("fp16: a step takes 120 ms, 20 % more than fp32's"));
}

TEST(TypeAdvice, TakesNoTypeWhoseLossIsTooFarFromFloats) {
  std::vector<TrialResult> results = usual_results();
  results[2] = tried(DType::bf16, 0.05, 2.1);
  const TypeAdvice advice = advise(results, {}, steps);
  EXPECT_EQ(advice.chosen, 4u) << "fp16 is slower, and close to float";
  EXPECT_THAT(advice.reasons,
              Contains("bf16: the loss of 20 steps is +5 % from float's, and 2 % are accepted"));
  results[4] = tried(DType::fp16, 0.07, std::numeric_limits<double>::quiet_NaN());
  const TypeAdvice float_only = advise(results, {}, steps);
  EXPECT_EQ(float_only.chosen, 0u);
  EXPECT_THAT(float_only.verdict, HasSubstr("no 16-bit type stays within 2 %"));
  EXPECT_THAT(float_only.reasons, Contains(HasSubstr("fp16: the losses of 20 steps are not all numbers")));
}

TEST(TypeAdvice, TakesWhatFitsAndEndsWhereNothingDoes) {
  const std::vector<TrialResult> results = {refused(DType::fp32), tried(DType::bf16, 0.2, 2),
                                            refused(DType::fp16)};
  const TypeAdvice advice = advise(results, {}, steps);
  EXPECT_EQ(advice.chosen, 1u);
  EXPECT_THAT(advice.verdict, HasSubstr("float does not"));
  EXPECT_THAT(advice.reasons, Contains("fp16: the run does not fit its budget of 1 GiB"));
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, errors::does_not_fit, {"1 GiB"}, [] {
    static_cast<void>(advise({refused(DType::fp32), refused(DType::bf16)}, {}, steps));
  }));
}

TEST(TypeAdvice, DoubtsWhatARestlessMachineMeasures) {
  std::vector<TrialResult> results = usual_results();
  results[2].step_s = {0.05, 0.06, 0.15};
  EXPECT_THAT(advise(results, {}, steps).reasons, Contains(HasSubstr("more --rounds say more")));
  results[2] = tried(DType::bf16, 0.116, 2);
  results[2].step_s = {0.116, 0.05, 0.2};
  results[4] = refused(DType::fp16);
  const TypeAdvice slower = advise(results, {}, steps);
  EXPECT_THAT(slower.verdict, HasSubstr("a step would take 16 % more time in bf16 than in float"));
  EXPECT_THAT(slower.reasons, Contains(HasSubstr("a step takes 16 % more time in bf16 than in float, and")));
}

TEST(TypeAdvice, MakesADeckThatChangesNoMoreThanItMust) {
  Options deck;
  deck.run.folder = "runs/net";
  deck.precision.compute = DType::fp32;
  const std::vector<TrialResult> results = usual_results();
  Options expected = deck;
  expected.run.folder = "runs/net-advised";
  expected.precision.compute = DType::bf16;
  EXPECT_EQ(advised_options(deck, results, 2, {}), expected);
  Options adapting = deck;
  adapting.precision.adapt = true;
  EXPECT_EQ(advised_options(adapting, results, 2, {}).precision.adaptation.types, std::vector{DType::bf16})
      << "the run would choose again";

  deck.memory.recompute = RecomputeMode::all;  // costs 30 %
  EXPECT_EQ(advised_options(deck, results, 2, {}), expected);

  std::vector<TrialResult> cheap = results;
  cheap[3] = tried(DType::bf16, 0.052, 2, RecomputeMode::all);
  expected.memory.recompute = RecomputeMode::all;
  EXPECT_EQ(advised_options(deck, cheap, 2, {}), expected);

  deck.memory.recompute = expected.memory.recompute = RecomputeMode::none;
  std::vector<TrialResult> as_deck = results;
  as_deck.push_back(tried(DType::bf16, 0.05, 2, RecomputeMode::none));
  EXPECT_EQ(advised_options(deck, as_deck, 2, {}), expected);
  expected.memory.recompute = RecomputeMode::automatic;
  as_deck.back() = refused(DType::bf16, RecomputeMode::none);
  EXPECT_EQ(advised_options(deck, as_deck, 2, {}), expected) << "the deck's own does not fit";
}

TEST(TypeAdvice, FloatHasItsMasters) {
  Options deck;
  deck.precision.masters = MasterWeights::none;
  EXPECT_EQ(advised_options(deck, usual_results(), 2, {}).precision.masters, MasterWeights::none);
  EXPECT_EQ(advised_options(deck, usual_results(), 0, {}).precision.masters, MasterWeights::fp32);
}

TEST(TypeAdvice, TriesTheDecksOwnRecomputationToo) {
  Options deck;
  EXPECT_EQ(settings_to_try(deck).size(), 6u);
  deck.memory.recompute = RecomputeMode::every;
  const std::vector<TrialSetting> settings = settings_to_try(deck);
  EXPECT_EQ(settings.size(), 9u);
  EXPECT_THAT(settings, Contains(TrialSetting{DType::fp16, RecomputeMode::every}));
}

/// Of as many samples for each rank in one micro-batch.
bool can_be_planned(const MemoryProblem& problem, std::int64_t samples) {
  Options options = problem.options();
  options.data.micro_batch = samples;
  options.data.batch = samples * problem.network.ranks;
  try {
    static_cast<void>(plan_memory(problem.with(problem.network.with(options))));
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::does_not_fit);
    return false;
  }
}

TEST(LargestMicroBatch, CanBePlannedAndOneSampleMoreCannot) {
  const testing_support::World world(testing_support::small_options(DType::bf16));
  const MemoryProblem plenty = world.problem(std::size_t{1} << 40);
  Options one_sample = plenty.options();
  one_sample.data.micro_batch = 1;
  one_sample.data.batch = plenty.network.ranks;
  const std::size_t enough_for_one = plan_memory(plenty.with(plenty.network.with(one_sample))).rank_bytes();
  for (const std::size_t more : {std::size_t{20} << 10, std::size_t{1} << 20, std::size_t{5} << 20}) {
    const MemoryProblem problem = world.problem(enough_for_one + more);
    const std::int64_t found = max_micro_batch(problem, 1 << 20);
    ASSERT_GE(found, 1);
    EXPECT_TRUE(can_be_planned(problem, found)) << found;
    EXPECT_FALSE(can_be_planned(problem, found + 1)) << found;
  }
  EXPECT_EQ(max_micro_batch(world.problem(1), 4096), 0);
  EXPECT_EQ(max_micro_batch(world.problem(std::size_t{1} << 40), 64), 64);
}

}  // namespace mylos::type_advice_test

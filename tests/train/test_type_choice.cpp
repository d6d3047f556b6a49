// Which type a run takes of those that were tried, on made-up measurements.
#include "mylos/train/adapt/type_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/memory.hpp"
#include "support/refusal.hpp"

namespace mylos::type_choice_test {

using testing::HasSubstr;

TrialResult tried(DType type, double step_s, double loss) {
  return {.setting = {type}, .step_s = {step_s, 2 * step_s, step_s}, .losses = {9, 9, loss, loss}};
}

TrialResult refused(DType type) {
  return {.setting = {type},
          .obstacle = "the run does not fit its budget",
          .code = ExitCode::does_not_fit,
          .cause = errors::does_not_fit};
}

DType chosen(const std::vector<TrialResult>& results, const TypeChoiceRule& rule = {}) {
  return results[choose_type(results, rule).chosen].setting.compute;
}

TEST(TypeChoice, TakesTheFastestThatStaysCloseToFloat) {
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), tried(DType::bf16, 0.6, 2.01), tried(DType::fp16, 0.7, 2)}),
            DType::bf16);
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), tried(DType::bf16, 0.6, 2.05), tried(DType::fp16, 0.7, 2)}),
            DType::fp16)
      << "2.5 % are more than 2 %";
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), tried(DType::bf16, 0.6, 2.05)}, {.loss_gap = 0.03}),
            DType::bf16);
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), tried(DType::bf16, 0.6, 1)}), DType::bf16)
      << "a lower loss is no gap";
}

TEST(TypeChoice, StaysInFloatWhereLittleIsGained) {
  const std::vector<TrialResult> results{tried(DType::fp32, 1, 2), tried(DType::bf16, 0.95, 2)};
  const TypeChoice choice = choose_type(results, {});
  EXPECT_EQ(choice.chosen, 0u);
  EXPECT_THAT(choice.reason, HasSubstr("bf16 would save 5 % of float's time, less than the 10 %"));
  EXPECT_EQ(chosen(results, {.least_gain = 0.04}), DType::bf16);
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), tried(DType::bf16, 3, 2)}), DType::fp32);
}

TEST(TypeChoice, SaysWhatASlowerTypeCosts) {
  const TypeChoice choice = choose_type({tried(DType::fp32, 1, 2), tried(DType::bf16, 1.16, 2)}, {});
  EXPECT_EQ(choice.chosen, 0u);
  EXPECT_EQ(choice.reason, "a step would take 16 % more time in bf16 than in float");
  EXPECT_EQ(describe_gain("bf16", -0.5, false), "a step takes 50 % more time in bf16 than in float");
  EXPECT_EQ(describe_gain("bf16", 0.341, false), "bf16 saves 34.1 % of float's time");
}

TEST(TypeChoice, TakesNoTypeWhoseLossIsNoNumber) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<TrialResult> results{tried(DType::fp16, 0.1, nan), tried(DType::fp32, 1, 2)};
  const TypeChoice choice = choose_type(results, {});
  EXPECT_EQ(choice.chosen, 1u);
  EXPECT_THAT(choice.reason, HasSubstr("no 16-bit type stays within 2 %"));
  EXPECT_EQ(loss_gap(results[1], results[0]), std::numeric_limits<double>::infinity());
}

TEST(TypeChoice, TakesNoTypeThatSkipsItsSteps) {
  TrialResult skips = tried(DType::fp16, 0.1, 2);  // a step without an update is fast
  skips.late_skips = 1;
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), skips}), DType::fp32);
  EXPECT_EQ(chosen({skips, tried(DType::bf16, 1, 2)}), DType::bf16) << "without float too";
  skips.late_skips = 0.25;  // the scale climbs too high now and then
  EXPECT_EQ(chosen({tried(DType::fp32, 1, 2), skips}), DType::fp16);
}

TEST(TypeChoice, SaysWhereFloatWasNotTried) {
  const TypeChoice choice = choose_type({tried(DType::bf16, 1, 2), tried(DType::fp16, 2, 2)}, {});
  EXPECT_EQ(choice.reason, "bf16 is the fastest that runs; float was not tried");
}

TEST(TypeChoice, EndsAsTheFirstTypeDoesWhereNoneIsLeft) {
  TrialResult damaged = refused(DType::fp16);
  damaged.code = ExitCode::bad_input;
  damaged.cause = errors::not_finite;
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_finite, {damaged.obstacle}, [&] {
    static_cast<void>(choose_type({damaged, refused(DType::bf16)}, {}));
  }));
}

TEST(TypeChoice, TakesWhatFitsWhereFloatDoesNot) {
  const std::vector<TrialResult> results{refused(DType::fp32), tried(DType::bf16, 1, 2),
                                         tried(DType::fp16, 0.8, 2)};
  EXPECT_EQ(chosen(results), DType::fp16);
  EXPECT_THAT(describe(results), HasSubstr("losses 2, 2; fp32 does not run"));
  EXPECT_TRUE(test::refuses(ExitCode::does_not_fit, errors::does_not_fit, {}, [] {
    static_cast<void>(choose_type({refused(DType::fp32), refused(DType::bf16)}, {}));
  }));
}

TEST(TypeChoice, SaysWhatWasMeasured) {
  EXPECT_EQ(describe(std::vector{tried(DType::fp32, 0.0123, 2), tried(DType::bf16, 0.0081, 2.01)}),
            "fp32 12.3 ms, bf16 8.1 ms a step, losses 2, 2.01 (+0.5 %)");
}

}  // namespace mylos::type_choice_test

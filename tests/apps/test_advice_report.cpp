// The table of mylos advise, on made-up measurements of a machine that counts joules.
#include "../../apps/mylos/tables/advise_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mylos::app::advice_report_test {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

AdviceReport report_of(const std::string& energy_of) {
  AdviceReport report;
  report.run = "net";
  report.batch = 8;
  report.tokens_of_sample = 16;
  report.steps = 20;
  report.energy_of = energy_of;
  report.deck = "net.advised.toml";
  const auto result = [](DType type, double step_s, double joules) {
    TrialResult one{.setting = {type, RecomputeMode::automatic}, .step_s = {step_s}, .losses = {2, 2}};
    one.step_j = {joules, 2 * joules, joules};
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"})
      one.gradients.push_back({name, type == DType::bf16 && name[0] < 'h' ? 0.25 : 0.0});
    return one;
  };
  report.results = {result(DType::fp32, 0.1, 4), result(DType::bf16, 0.05, 1.5),
                    TrialResult{.setting = {DType::fp16, RecomputeMode::all}, .obstacle = "too large"}};
  report.largest = {12, 1 << 20, 0};
  report.advice = advise({report.results[0], report.results[1]}, {}, report.steps);
  return report;
}

TEST(AdviceReport, TellsJoulesWhereTheyAreCounted) {
  const std::string text = advice_text(report_of("2 processors"));
  EXPECT_THAT(text, HasSubstr("joules of a step: of each node 2 processors"));
  EXPECT_THAT(text, ContainsRegex("bf16  auto +50 +±0 % +2560 +1.5 "));
  EXPECT_THAT(advice_json(report_of("2 processors")), HasSubstr("\"step_joules\": 4.0"));
  EXPECT_THAT(advice_text(report_of("")), Not(HasSubstr("joules")));
}

TEST(AdviceReport, NamesTheWorstParametersAndCountsTheOthers) {
  const std::string text = advice_text(report_of(""));
  EXPECT_THAT(text, ContainsRegex("bf16  e +25 % +0 % +0\n  bf16  2 more lose less, 1 nothing"));
}

TEST(AdviceReport, SaysWhyASettingDidNotRun) {
  const std::string text = advice_text(report_of(""));
  EXPECT_THAT(text, ContainsRegex("fp16  all +-\n"));
  EXPECT_THAT(text, ContainsRegex("fp16  all +too large"));
  EXPECT_THAT(text, HasSubstr(">= 1048576"));
}

}  // namespace mylos::app::advice_report_test

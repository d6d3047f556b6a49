// Numbers of tables and reports, each by its own definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "../../apps/mylos/report/sweep_importance.hpp"
#include "../../apps/mylos/tables/uncertainty_report.hpp"

namespace mylos::app {
namespace {

using ::testing::HasSubstr;

/// A sweep of a list, with a member for each text.
StoredSweep sweep_of(const std::vector<std::string>& texts) {
  StoredSweep sweep;
  sweep.keys.push_back({.key = "optimizer.lr", .values = {"1e-3", "1e-2"}});
  for (const std::string& text : texts) sweep.members.push_back({.values = {text}});
  return sweep;
}

TEST(SweepImportance, EqualMembersHaveTheMeanOfTheirRanks) {
  const StoredSweep sweep = sweep_of({"1e-3", "1e-2", "1e-3", "1e-2"});
  const auto importance = importance_of(sweep, {0.5, 0.5, 0.25, 0.75});
  ASSERT_EQ(importance.at(0).groups.size(), 2U);
  EXPECT_EQ(importance[0].groups[0].mean_rank, (1 + 2.5) / 2);
  EXPECT_EQ(importance[0].groups[1].mean_rank, (2.5 + 4) / 2);
  // Between groups 2 · 2 · 0.75²; of all members 2 · 1.5², and the two equal ones are at the mean.
  EXPECT_DOUBLE_EQ(importance[0].share.value(), 2 * 2 * 0.75 * 0.75 / (2 * 1.5 * 1.5));
}

TEST(SweepImportance, TheMedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  const StoredSweep sweep = sweep_of({"1e-3", "1e-3", "1e-3", "1e-3", "1e-2", "1e-2"});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto importance = importance_of(sweep, {1, 8, 2, 4, 3, infinity});
  ASSERT_EQ(importance.at(0).groups.size(), 2U);
  EXPECT_EQ(importance[0].groups[0].median, 3);
  EXPECT_EQ(importance[0].groups[1].median, infinity) << "the worse one, where a member has diverged";
  EXPECT_EQ(importance[0].groups[1].best, 3);
}

TEST(UncertaintyReport, NamesEachNumberRight) {
  UncertaintyResult result;
  result.deviations = UncertaintyResult::Deviations{.curve = {},
                                                    .chosen = {{0.5, 0.25}, {0.9, 0.75}},
                                                    .calibration_error = 0.125,
                                                    .rms_calibration_error = 0.375,
                                                    .miscalibration_area = 0.0625,
                                                    .sharpness = 3,
                                                    .crps = 5};
  result.intervals =
      UncertaintyResult::Intervals{.coverage = {0.9, 0.875}, .of_channels = {0.25, 0.75}, .mean_width = 7};
  const std::vector<std::string> expected{
      "coverage of predicted standard deviations: 0.2500 at 0.5, 0.7500 at 0.9",
      "calibration error 0.125 (root mean square 0.375, area 0.0625)",
      "sharpness 3, CRPS 5",
      "coverage of calibrated intervals: 0.8750 at 0.9, mean width 7",
      "coverage of lift: 0.2500",
      "coverage of drag: 0.7500"};
  EXPECT_EQ(uncertainty_lines(result, {"lift", "drag"}), expected);
  EXPECT_THAT(uncertainty_lines({.not_finite = 4}, {}).at(0), HasSubstr("4 predictions are inf or NaN"));
}

}  // namespace
}  // namespace mylos::app

// How well stated uncertainties hold: the numbers of uncertainty-toolbox 0.1.1, and the same bits in any
// order.
#include "mylos/inference/uncertainty/uncertainty_measures.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mylos::uncertainty_measures_test {

constexpr int rows = 60;

double error_of(int i) {
  return ((37 * i) % 101 - 50) / 100.0;
}
double deviation_of(int i) {
  return 0.125 * (1 + (7 * i) % 13 / 4.0);
}

UncertaintyMeasures measures_of_deviations() {
  return {true, std::nullopt};
}

void add(UncertaintyMeasures& measures, int first, int count) {
  EvaluatedRows evaluated{.shape = {.has_deviations = true}, .errors = {}, .deviations = {}};
  for (int i = first; i < first + count; ++i) {
    evaluated.errors.push_back(error_of(i));
    evaluated.deviations.push_back(deviation_of(i));
  }
  measures.add(evaluated);
}

TEST(UncertaintyMeasures, AreThoseOfUncertaintyToolbox) {
  UncertaintyMeasures measures = measures_of_deviations();
  add(measures, 0, rows);
  const UncertaintyResult result = measures.result();
  ASSERT_TRUE(result.deviations);
  EXPECT_FALSE(result.intervals);
  EXPECT_EQ(result.samples, rows);
  constexpr double close = 1e-12;
  EXPECT_NEAR(result.deviations->calibration_error, 0.05291919191919196, close);
  EXPECT_NEAR(result.deviations->rms_calibration_error, 0.06609222207023928, close);
  EXPECT_NEAR(result.deviations->miscalibration_area, 0.05320918212222563, close);
  EXPECT_NEAR(result.deviations->sharpness, 0.329831870048969, close);
  EXPECT_NEAR(result.deviations->crps, 0.17802862530577854, close);
  const auto& curve = result.deviations->curve;
  ASSERT_EQ(curve.size(), 100U);
  for (const auto& [level, within] : {std::pair{0, 1}, {10, 4}, {50, 25}, {98, 56}, {99, 60}}) {
    EXPECT_DOUBLE_EQ(curve[static_cast<std::size_t>(level)].nominal, level / 99.0);
    EXPECT_DOUBLE_EQ(curve[static_cast<std::size_t>(level)].observed, within / 60.0);
  }
  const double chosen[] = {25 / 60.0, 44 / 60.0, 51 / 60.0, 54 / 60.0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(result.deviations->chosen[i].observed, chosen[i]);
}

TEST(UncertaintyMeasures, LeaveOutPointsOfWeightZero) {
  const ConformalCalibration calibration{
      .coverage = 0.5, .samples = 9, .split = "test", .score = ConformalScore::absolute, .quantiles = {2}};
  const auto measures_of = [&](const TargetShape& shape, std::vector<double> errors) {
    UncertaintyMeasures measures(true, calibration);
    std::vector<double> deviations;
    for (std::size_t i = 0; i < errors.size(); ++i)
      deviations.push_back(1 + 0.25 * static_cast<double>(i / 2));
    measures.add({.shape = shape, .errors = std::move(errors), .deviations = std::move(deviations)});
    return measures.result();
  };
  TargetShape masked{.points = 4, .has_deviations = true};
  masked.weights = std::make_shared<const PointWeights>(PointWeights{"", {4}, {2, 0, 2, 0}});
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const UncertaintyResult found = measures_of(masked, {1, infinity, -1.5, 7});
  UncertaintyMeasures expected(true, calibration);
  expected.add(
      {.shape = {.points = 2, .has_deviations = true}, .errors = {1, -1.5}, .deviations = {1, 1.25}});
  EXPECT_EQ(found.not_finite, 0);
  EXPECT_EQ(found.intervals->coverage.observed, 1);
  EXPECT_EQ(found.intervals->mean_width, expected.result().intervals->mean_width);
  EXPECT_EQ(found.deviations->crps, expected.result().deviations->crps);
  EXPECT_EQ(found.deviations->sharpness, expected.result().deviations->sharpness);
}

/// All ranks: each adds some of the samples.
TEST(UncertaintyMeasures, AreTheSameBitsForAnyOrderAndAnyRanks) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  UncertaintyMeasures whole = measures_of_deviations();
  add(whole, 0, rows);
  UncertaintyMeasures parts = measures_of_deviations();
  for (int i = rows - 1; i >= 0; --i)
    if (i % ranks.size() == ranks.rank()) add(parts, i, 1);
  parts.add_up(ranks);
  const UncertaintyResult expected = whole.result();
  const UncertaintyResult found = parts.result();
  EXPECT_EQ(found.samples, expected.samples);
  EXPECT_EQ(found.deviations->calibration_error, expected.deviations->calibration_error);
  EXPECT_EQ(found.deviations->sharpness, expected.deviations->sharpness);
  EXPECT_EQ(found.deviations->crps, expected.deviations->crps);
}

TEST(UncertaintyMeasures, CountWhatQuantilesAreAbove) {
  const std::vector<double> levels{0.1, 0.9};
  UncertaintyMeasures measures(false, std::nullopt, levels);
  const TargetShape shape{.points = 3};
  measures.add({.shape = shape,
                .errors = {0, 0, 0},
                .deviations = {},
                .quantiles = {{-1, -2, 0}, {1, -1, -0.5}}});  // quantile - target; the last ones cross
  TargetShape masked = shape;
  masked.weights =
      std::make_shared<PointWeights>(PointWeights{.source = "mask", .extents = {3}, .values = {3, 0, 0}});
  measures.add(
      {.shape = masked, .errors = {0, 0, 0}, .deviations = {}, .quantiles = {{1, 1, 1}, {2, -2, -2}}});
  const UncertaintyResult result = measures.result();
  ASSERT_TRUE(result.quantiles);
  EXPECT_EQ(result.quantiles->levels[0].nominal, 0.1);
  EXPECT_EQ(result.quantiles->levels[0].observed, 2.0 / 4);
  EXPECT_EQ(result.quantiles->levels[1].observed, 2.0 / 4);
  EXPECT_EQ(result.quantiles->crossed, 1.0 / 4);
}

TEST(UncertaintyMeasures, CountWhatCalibratedIntervalsHold) {
  const ConformalCalibration calibration{.coverage = 0.9,
                                         .samples = 40,
                                         .split = "test",
                                         .score = ConformalScore::absolute,
                                         .quantiles = {1, 10}};
  UncertaintyMeasures measures(false, calibration);
  // Two points of two channels: a channel is held if both points are.
  const TargetShape shape{.points = 2, .channels = 2};
  measures.add({.shape = shape, .errors = {0.5, 3, -1, -10}, .deviations = {}});
  measures.add({.shape = shape, .errors = {0.5, 3, -1.25, 9}, .deviations = {}});
  measures.add({.shape = shape, .errors = {-2, 11, 0, 0}, .deviations = {}});
  measures.add({.shape = shape, .errors = {0, 0, 0, -11}, .deviations = {}});
  const UncertaintyResult result = measures.result();
  EXPECT_FALSE(result.deviations);
  ASSERT_TRUE(result.intervals);
  EXPECT_EQ(result.intervals->of_channels, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(result.intervals->coverage.nominal, 0.9);
  EXPECT_EQ(result.intervals->coverage.observed, 0.5);
  EXPECT_EQ(result.intervals->mean_width, 11);
}

TEST(UncertaintyMeasures, HaveNoResultOfPredictionsThatAreNotFinite) {
  UncertaintyMeasures measures = measures_of_deviations();
  add(measures, 0, rows);
  measures.add({.shape = {.has_deviations = true},
                .errors = {0, std::numeric_limits<double>::quiet_NaN()},
                .deviations = {std::numeric_limits<double>::infinity(), 1}});
  const UncertaintyResult result = measures.result();
  EXPECT_EQ(result.not_finite, 2);
  EXPECT_FALSE(result.deviations);
}

TEST(UncertaintyMeasures, HoldForDeviationsOfZero) {
  UncertaintyMeasures measures = measures_of_deviations();
  measures.add({.shape = {.has_deviations = true}, .errors = {0, 2}, .deviations = {0, 0}});
  const UncertaintyResult result = measures.result();
  ASSERT_TRUE(result.deviations);
  EXPECT_EQ(result.deviations->curve.front().observed, 0.5);
  EXPECT_EQ(result.deviations->curve.back().observed, 1);
  EXPECT_EQ(result.deviations->crps, 1);  // the mean of the errors
}

}  // namespace mylos::uncertainty_measures_test

// Conformal calibrations: the quantile's rank, its selection over ranks, and the bounds that follow.
#include "mylos/inference/uncertainty/calibration.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/inference/uncertainty/conformal_scores.hpp"
#include "support/refusal.hpp"

namespace mylos::calibrated_intervals_test {

TEST(ConformalQuantile, HasTheRankOfTheDecimalCoverage) {
  EXPECT_EQ(quantile_rank(9, 0.9), 9);
  EXPECT_EQ(quantile_rank(10, 0.9), 10);
  EXPECT_EQ(quantile_rank(99, 0.55), 55);  // 100 x 0.55 is above 55 in doubles
  EXPECT_EQ(quantile_rank(19, 0.95), 19);
  EXPECT_EQ(quantile_rank(999'999, 0.7), 700'000);
  EXPECT_EQ(quantile_rank(1000, 0.9), 901);
}

TEST(ConformalQuantile, NeedsSamplesInProportionToTheOdds) {
  EXPECT_EQ(min_calibration_samples(0.5), 1);
  EXPECT_EQ(min_calibration_samples(0.8), 4);
  EXPECT_EQ(min_calibration_samples(0.9), 9);
  EXPECT_EQ(min_calibration_samples(0.95), 19);
  EXPECT_EQ(min_calibration_samples(0.99), 99);
  EXPECT_EQ(min_calibration_samples(0.999), 999);
  EXPECT_EQ(min_calibration_samples(0.9999), 9999);
  EXPECT_EQ(min_calibration_samples(1e-6), 1);
}

/// The rank-th smallest of the scores of all MPI ranks, each of which adds the samples of its number.
TEST(ConformalScores, OfAllRanksHaveTheQuantileOfTheSortedWhole) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  constexpr int samples = 60;
  std::mt19937 source(7);
  std::normal_distribution<double> normal;
  const TargetShape shape{.points = 3, .channels = 2, .has_deviations = true};
  ConformalScores scores(ConformalScore::scaled, shape.channels, samples);
  std::vector<std::vector<double>> expected(2);
  for (int sample = 0; sample < samples; ++sample) {
    EvaluatedRows rows{.shape = shape, .errors = {}, .deviations = {}};
    double largest[2] = {0, 0};
    for (int i = 0; i < 6; ++i) {
      // Some are equal, some are 0.
      rows.errors.push_back(sample % 7 == 0 ? 0.0 : std::round(4 * normal(source)) / 4);
      rows.deviations.push_back(0.25 + i);
      largest[i % 2] = std::max(largest[i % 2], std::abs(rows.errors.back()) / rows.deviations.back());
    }
    for (std::size_t channel = 0; channel < 2; ++channel) expected[channel].push_back(largest[channel]);
    if (sample % ranks.size() == ranks.rank()) scores.add(rows);
  }
  EXPECT_EQ(scores.not_finite(ranks), 0);
  for (const double coverage : {0.05, 0.1, 0.5, 0.9, 0.98}) {
    const std::vector<double> found = scores.quantiles(ranks, coverage);
    ASSERT_EQ(found.size(), 2U);
    for (std::size_t channel = 0; channel < 2; ++channel) {
      std::vector<double> sorted = expected[channel];
      std::sort(sorted.begin(), sorted.end());
      const auto rank = static_cast<std::size_t>(std::ceil(61 * coverage - 1e-9));
      EXPECT_EQ(found[channel], sorted[rank - 1]) << coverage << ", channel " << channel;
    }
  }
}

TEST(ConformalScores, LeaveOutPointsOfWeightZero) {
  RankGroup ranks(MPI_COMM_SELF, 60);
  TargetShape shape{.points = 3, .channels = 2};
  shape.weights = std::make_shared<const PointWeights>(PointWeights{"", {3}, {1.5f, 0, 1.5f}});
  ConformalScores scores(ConformalScore::absolute, 2, 1);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  scores.add({.shape = shape, .errors = {1, -2, 100, infinity, -3, 0.5}, .deviations = {}});
  EXPECT_EQ(scores.not_finite(ranks), 0);
  EXPECT_EQ(scores.quantiles(ranks, 0.5), (std::vector<double>{3, 2}));
}

/// Those of the last rank, which all ranks hear of.
TEST(ConformalScores, CountThoseThatAreNotFinite) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  ConformalScores scores(ConformalScore::absolute, 2, 3);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> errors{1, 5, 6, 2, 3, -4};
  if (ranks.rank() == ranks.size() - 1) {
    errors[1] = infinity;
    errors[2] = std::numeric_limits<double>::quiet_NaN();
  }
  scores.add({.shape = {.channels = 2}, .errors = errors, .deviations = {}});
  EXPECT_EQ(scores.not_finite(ranks), 2);
}

TEST(ConformalScores, KeepANaNAmongTheErrorsOfAField) {
  RankGroup ranks;
  for (const std::size_t index : {0U, 1U, 2U}) {
    ConformalScores scores(ConformalScore::absolute, 1, 1);
    std::vector<double> errors{1, 2, 3};
    errors[index] = std::numeric_limits<double>::quiet_NaN();
    scores.add({.shape = {.points = 3}, .errors = errors, .deviations = {}});
    EXPECT_EQ(scores.not_finite(ranks), 1) << index;
  }
}

ConformalCalibration two_targets(ConformalScore score) {
  return {.coverage = 0.9, .samples = 40, .split = "validation", .score = score, .quantiles = {0.5, 2}};
}

TEST(ConformalCalibration, GivesBoundsAroundTheMeans) {
  const std::vector<float> means{1, 10, 3, -30};
  const std::vector<float> deviations{2, 4, 0.5F, 8};
  std::vector<float> lower(4);
  std::vector<float> upper(4);
  two_targets(ConformalScore::absolute).bounds(means, {}, lower, upper);
  EXPECT_EQ(lower, (std::vector<float>{0.5F, 8, 2.5F, -32}));
  EXPECT_EQ(upper, (std::vector<float>{1.5F, 12, 3.5F, -28}));
  two_targets(ConformalScore::scaled).bounds(means, deviations, lower, upper);
  EXPECT_EQ(lower, (std::vector<float>{0, 2, 2.75F, -46}));
  EXPECT_EQ(upper, (std::vector<float>{2, 18, 3.25F, -14}));
}

TEST(ConformalCalibration, IsReadAsItWasWritten) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  const test::SharedFolder folder(ranks);
  const std::string path = folder.path() + "/model.h5";
  for (const ConformalScore score : {ConformalScore::absolute, ConformalScore::scaled}) {
    ConformalCalibration written = two_targets(score);
    ConformalCalibration of_rollouts = written;
    of_rollouts.quantiles = {1, 2, 3, 4, 5, 6};
    of_rollouts.lead_times = 3;
    ConformalCalibration of_ensemble = of_rollouts;
    of_ensemble.quantiles = {6, 5, 4, 3};
    of_ensemble.lead_times = 2;
    of_ensemble.members = 5;
    CheckpointState state;
    add_calibration(state, written);
    add_calibration(state, of_rollouts);
    add_calibration(state, of_ensemble);
    CheckpointHeader header;
    header.deck = "[run]";
    write_checkpoint_file(ranks, path, header, state);
    const CheckpointReader reader(ranks, path);
    EXPECT_EQ(read_calibration(reader), written);
    const auto found = read_calibration(reader, Calibrated::rollouts);
    EXPECT_EQ(found, of_rollouts);
    EXPECT_EQ(found->at_lead_time(2).quantiles, (std::vector<double>{3, 4}));
    EXPECT_EQ(read_calibration(reader, Calibrated::ensemble_rollouts), of_ensemble);
    EXPECT_FALSE(read_calibration(reader, Calibrated::ensemble_predictions).has_value());
  }
}

TEST(ConformalCalibration, MustFitTheNetwork) {
  const TargetShape plain{.channels = 2};
  const TargetShape gaussian{.channels = 2, .has_deviations = true};
  require_calibration_fits(two_targets(ConformalScore::absolute), plain, "model.h5");
  require_calibration_fits(two_targets(ConformalScore::scaled), gaussian, "model.h5");
  EXPECT_TRUE(test::refuses(errors::damaged, {"model.h5", "/calibration"}, [&] {
    require_calibration_fits(two_targets(ConformalScore::absolute), {.channels = 3}, "model.h5");
  }));
  EXPECT_TRUE(test::refuses(errors::damaged, {"model.h5", "/calibration"}, [&] {
    require_calibration_fits(two_targets(ConformalScore::scaled), plain, "model.h5");
  }));
}

}  // namespace mylos::calibrated_intervals_test

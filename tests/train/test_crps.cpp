// The continuous ranked probability score: against its definition, the integral of (F(x) - [x >= t])^2 over
// x, computed by Simpson's rule in Python.
#include "mylos/train/evaluation/measures/crps.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mylos/model/losses/make_loss.hpp"
#include "mylos/model/network/mlp.hpp"

namespace mylos::crps_test {

TEST(GaussianCrps, IsTheIntegralOfItsDefinition) {
  EXPECT_NEAR(gaussian_crps(0, 1, 0), 0.23369497725510796, 1e-12);
  EXPECT_NEAR(gaussian_crps(0, 1, 1), 0.6024413576276162, 1e-12);
  EXPECT_NEAR(gaussian_crps(2, 0.5, -1), 2.717905208382479, 1e-12);
  EXPECT_NEAR(gaussian_crps(-3, 4, 2.5), 3.553116843610629, 1e-12);
  EXPECT_NEAR(gaussian_crps(1, 1e-3, 1.0005), 0.0003314035312548334, 1e-15);
  EXPECT_EQ(gaussian_crps(2, 0, -1), 3);  // the absolute error
  EXPECT_NEAR(gaussian_crps(2, 1e-12, -1), 3, 1e-11);
  EXPECT_TRUE(std::isnan(gaussian_crps(0, std::nan(""), 0)));
}

Chain network() {
  ModelOptions model;
  model.inputs = 3;
  model.outputs = 2;
  model.loss = losses::Gaussian{};
  return make_mlp(model, {}, 1, false);
}

constexpr float means[] = {0, 1, -2, 0.5f, 3, -1}, deviations[] = {1, 0.5f, 2, 0.125f, 0, 4},
                targets[] = {1, 1, -1, 0.75f, 2, 8};

TEST(CrpsMeasure, IsTheMeanInTheUnitsOfTheTargets) {
  const ColumnScaling scaling{{5, -3}, {0.5, 4}};  // deviations of the data of 2 and 0.25
  CrpsMeasure crps(network(), scaling), reversed(network(), scaling);
  crps.add(means, deviations, targets);
  double sum = 0;
  for (std::size_t i = 0; i < std::size(means); ++i)
    sum += gaussian_crps(means[i], deviations[i], targets[i]) / scaling.scale[i % 2];
  EXPECT_NEAR(crps.value(), sum / 6, 1e-15);
  for (const std::size_t row : {2u, 0u, 1u}) {
    const auto of = [row](const float* values) { return std::span(values + 2 * row, 2); };
    reversed.add(of(means), of(deviations), of(targets));
  }
  EXPECT_EQ(reversed.value(), crps.value());
}

TEST(CrpsMeasure, IsNaNWhereADeviationIsNotFinite) {
  CrpsMeasure crps(network(), {});
  const float infinity = std::numeric_limits<float>::infinity();
  crps.add(std::vector<float>{0, 1}, std::vector<float>{1, infinity}, std::vector<float>{0, 0});
  EXPECT_TRUE(std::isnan(crps.value()));
}

TEST(CrpsMeasure, OfAllRanksIsTheMeanOfTheirScoresAndNaNWhereOneHasNone) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  CrpsMeasure alone(network(), {}), all(network(), {});
  alone.add(means, deviations, targets);
  all.add(means, deviations, targets);
  all.add_up(ranks);
  EXPECT_DOUBLE_EQ(all.value(), alone.value());

  CrpsMeasure of_bad_rank(network(), {});
  of_bad_rank.add(means, deviations, targets);
  if (ranks.rank() == ranks.size() - 1)
    of_bad_rank.add(std::vector<float>{0, 0}, std::vector<float>{1, std::nanf("")}, std::vector<float>{0, 0});
  of_bad_rank.add_up(ranks);
  EXPECT_TRUE(std::isnan(of_bad_rank.value()));
}

TEST(CrpsMeasure, CountsPointsByTheirWeights) {
  ModelOptions model;
  model.loss = losses::Gaussian{};
  model.point_weights = std::make_shared<PointWeights>(PointWeights{"test", {3}, {0, 1, 2}});
  Chain chain = network();
  const SampleShape field{{.extent = {1, 1, 3}, .channels = 4}, 1};
  chain.head = make_loss(model, {.numbers = 12, .shape = field});
  ASSERT_EQ(chain.outputs(), 6);
  CrpsMeasure crps(chain, {});
  crps.add(means, deviations, targets);
  double sum = 0;
  for (std::size_t i = 0; i < 6; ++i)
    sum += static_cast<double>(i / 2) * gaussian_crps(means[i], deviations[i], targets[i]);
  EXPECT_NEAR(crps.value(), sum / 6, 1e-15);
}

}  // namespace mylos::crps_test

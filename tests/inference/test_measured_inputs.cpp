// The statistics of training inputs, against closed forms, on any number of ranks.
#include "mylos/inference/uncertainty/measured_inputs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "inference/table_data.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"
#include "support/refusal.hpp"

namespace mylos::measured_inputs_test {

using test::TableData;
using testing::DoubleNear;
using testing::ElementsAre;

class MeasuredInputs : public testing::Test {
 protected:
  InputStatistics measured(const std::vector<float>& rows, std::int64_t inputs) {
    return measure_inputs(ranks, TableData(rows, inputs), inputs, "table");
  }
  RankGroup ranks{MPI_COMM_WORLD, 60};
};

/// The corners of a rectangle around (m, n), each `times` times.
std::vector<float> rectangle(float m, float n, float a, float b, int times) {
  std::vector<float> rows;
  for (int i = 0; i < times; ++i) {
    for (const float x : {-a, a}) {
      for (const float y : {-b, b}) rows.insert(rows.end(), {m + x, n + y});
    }
  }
  return rows;
}

TEST_F(MeasuredInputs, CornersOfARectangleHaveTheVariancesOfItsSides) {
  constexpr int times = 50;
  const double factor = 4.0 * times / (4.0 * times - 1);  // of n - 1
  const InputStatistics found = measured(rectangle(3, -1000, 2, 0.5, times), 2);
  EXPECT_EQ(found.samples, 4 * times);
  EXPECT_THAT(found.mean, ElementsAre(DoubleNear(3, 1e-12), DoubleNear(-1000, 1e-9)));
  EXPECT_NEAR(found.deviation[0], std::sqrt(4 * factor), 1e-12);
  EXPECT_NEAR(found.deviation[1], std::sqrt(0.25 * factor), 1e-9);
  EXPECT_EQ(found.ridge, 0);
  EXPECT_NEAR(found.inverse_covariance[0], 1 / (4 * factor), 1e-9);
  EXPECT_NEAR(found.inverse_covariance[3], 1 / (0.25 * factor), 1e-6);
  EXPECT_NEAR(found.inverse_covariance[1], 0, 1e-9);
  EXPECT_EQ(found.inverse_covariance[1], found.inverse_covariance[2]);
  for (const double distance : found.distances) EXPECT_NEAR(distance, std::sqrt(2 / factor), 1e-9);
}

TEST_F(MeasuredInputs, QuantilesAreInterpolatedAsNumPyDoes) {
  std::vector<float> rows;
  for (int i = -1000; i <= 1000; ++i) rows.push_back(static_cast<float>(i));
  const InputStatistics found = measured(rows, 1);
  const double deviation = std::sqrt(2 * 1000.0 * 1001 * 2001 / 6 / 2000);  // of the sum of squares
  EXPECT_NEAR(found.deviation[0], deviation, 1e-9);
  // |i| in order: 0, 1, 1, 2, 2, ... 1000, 1000: that of index p is ceil(p / 2).
  EXPECT_NEAR(found.distances[0] * deviation, 990, 1e-9);  // index 1980
  EXPECT_NEAR(found.distances[1] * deviation, 999, 1e-9);  // index 1998
  EXPECT_NEAR(found.distances[2] * deviation, 1000, 1e-9);
  rows.resize(1000);  // -1000 ... -1
  const InputStatistics fewer = measured(rows, 1);
  const double of_fewer = fewer.deviation[0];
  EXPECT_NEAR(fewer.distances[2] * of_fewer, 499.5, 1e-9);
  EXPECT_NEAR(fewer.distances[0] * of_fewer, 494.51, 1e-9);
}

TEST_F(MeasuredInputs, ConstantInputsHaveNoDistance) {
  std::vector<float> rows = rectangle(0, 7, 1, 0, 20);
  const InputStatistics found = measured(rows, 2);
  EXPECT_EQ(found.deviation[1], 0);
  EXPECT_EQ(found.mean[1], 7);
  EXPECT_EQ(found.ridge, 0);
  EXPECT_THAT(found.inverse_covariance, ElementsAre(testing::Gt(0.0), 0.0, 0.0, 0.0));
  EXPECT_TRUE(distance_factor(found.inverse_covariance, 2).has_value());
  const InputStatistics all = measured({1, 2, 1, 2, 1, 2}, 2);
  EXPECT_THAT(all.inverse_covariance, ElementsAre(0.0, 0.0, 0.0, 0.0));
  EXPECT_THAT(all.distances, ElementsAre(0.0, 0.0, 0.0));
}

TEST_F(MeasuredInputs, CollinearInputsHaveARidge) {
  std::vector<float> rows;
  for (int i = 0; i < 64; ++i) {
    const auto x = static_cast<float>(i);
    rows.insert(rows.end(), {x, -2 * x});
  }
  const InputStatistics found = measured(rows, 2);
  EXPECT_EQ(found.ridge, input_ridge);
  // The correlation is -1: eigenvalues 2 + ridge along (1, -1), and ridge along (1, 1), in deviations.
  const auto factor = distance_factor(found.inverse_covariance, 2);
  ASSERT_TRUE(factor);
  const double along[] = {found.deviation[0], -found.deviation[1]};
  const double across[] = {found.deviation[0], found.deviation[1]};
  EXPECT_NEAR(squared_distance(factor->data(), along, 2), 2 / (2 + input_ridge), 1e-6);
  EXPECT_NEAR(squared_distance(factor->data(), across, 2) * input_ridge, 2, 1e-6);
}

TEST_F(MeasuredInputs, EveryNumberOfRanksGivesTheSameBits) {
  std::vector<float> rows;
  for (int i = 0; i < 7 * 1003; ++i)
    rows.push_back(static_cast<float>(std::sin(i * 0.7) * (1 + i % 7) + 0.3 * std::cos(i * 1.3)));
  const TableData data(rows, 7);
  const InputStatistics found = measure_inputs(ranks, data, 7, "table");
  RankGroup alone;
  const InputStatistics expected = measure_inputs(alone, data, 7, "table");
  EXPECT_EQ(found.mean, expected.mean);
  EXPECT_EQ(found.deviation, expected.deviation);
  EXPECT_EQ(found.inverse_covariance, expected.inverse_covariance);
  EXPECT_EQ(found.distances, expected.distances);
}

TEST_F(MeasuredInputs, RefusesTooManyInputsAndTooFewSamples) {
  EXPECT_TRUE(test::refuses(errors::too_little_data, {"table", "1 training sample"}, [&] {
    static_cast<void>(measured({1, 2}, 2));
  }));
  EXPECT_TRUE(test::refuses(errors::not_measured, {"1025", "1024"}, [&] {
    static_cast<void>(measured(std::vector<float>(2050), max_distance_inputs + 1));
  }));
}

TEST(DistanceFactor, RefusesWhatIsNoInverseCovariance) {
  EXPECT_FALSE(distance_factor(std::vector<double>{1, 2, 2, 1}, 2)) << "an eigenvalue is below 0";
  EXPECT_FALSE(distance_factor(std::vector<double>{1, 0.5, 0.4, 1}, 2)) << "not symmetric";
  EXPECT_FALSE(distance_factor(std::vector<double>{-1}, 1));
  EXPECT_FALSE(distance_factor(std::vector<double>{0, 1, 1, 1}, 2)) << "0 on the diagonal alone";
  EXPECT_TRUE(distance_factor(std::vector<double>{0, 0, 0, 1}, 2));
}

}  // namespace mylos::measured_inputs_test

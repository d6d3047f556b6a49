// Which evaluation was the best, and when patience is over.
#include "mylos/train/evaluation/best_evaluation.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace mylos::best_evaluation_test {

/// The test data's loss and accuracy.
std::vector<EvaluationRow> test_row(std::uint64_t step, double loss, double accuracy) {
  return {{.step = step, .part = DataPart::train, .loss = 0},
          {.step = step, .part = DataPart::test, .loss = loss, .accuracy = accuracy}};
}

TEST(BestEvaluation, IsTheLeastLossAndOfEqualsTheFirst) {
  BestEvaluation best(Metric{DataPart::test, "loss"});
  EXPECT_TRUE(best.take(test_row(10, 0.5, 0)));
  EXPECT_FALSE(best.take(test_row(20, 0.5, 0)));
  EXPECT_FALSE(best.take(test_row(30, 0.6, 0)));
  EXPECT_EQ(best.without_improvement(), 2);
  EXPECT_TRUE(best.take(test_row(40, 0.4, 0)));
  EXPECT_EQ(best.step(), 40);
  EXPECT_EQ(best.without_improvement(), 0);
  EXPECT_EQ(best.text(), "test.loss 0.4 at step 40");
}

TEST(BestEvaluation, IsTheGreatestAccuracy) {
  BestEvaluation best(Metric{DataPart::test, "accuracy"});
  EXPECT_TRUE(best.take(test_row(10, 0, 0)));
  EXPECT_TRUE(best.take(test_row(20, 9, 0.25)));
  EXPECT_FALSE(best.take(test_row(30, 0, 0.25)));
  EXPECT_EQ(best.step(), 20);
}

TEST(BestEvaluation, IsNoneThatIsNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  BestEvaluation best(Metric{DataPart::test, "loss"}, 3);
  EXPECT_FALSE(best.take(test_row(10, nan, 0)));
  EXPECT_EQ(best.text(), "");
  EXPECT_TRUE(best.take(test_row(20, std::numeric_limits<double>::infinity(), 0)));
  EXPECT_TRUE(best.take(test_row(30, 7, 0)));
  EXPECT_FALSE(best.take(test_row(40, nan, 0)));
  EXPECT_EQ(best.step(), 30);
}

TEST(BestEvaluation, PatienceIsOverAfterSoManyWithoutABetterOne) {
  BestEvaluation best(Metric{DataPart::test, "loss"}, 2);
  best.take(test_row(10, 0.5, 0));
  best.take(test_row(20, 0.6, 0));
  EXPECT_FALSE(best.patience_is_over());
  best.take(test_row(30, 0.5, 0));
  EXPECT_TRUE(best.patience_is_over());
}

TEST(BestEvaluation, EvaluationsThatDidNotMeasureTheMetricDoNotCount) {
  BestEvaluation best(Metric{DataPart::test, "r2"}, 2);
  std::deque<EvaluationRow> rows;
  for (std::uint64_t step = 10; step <= 50; step += 10) {
    for (const EvaluationRow& row : test_row(step, 0.5, 0)) rows.push_back(row);
  }
  best.restore(rows);
  EXPECT_EQ(best.without_improvement(), 0);
  EXPECT_EQ(best.step(), -1);
  EXPECT_FALSE(best.patience_is_over());

  // Two evaluations that measured it follow: the first is the best, the second is not better.
  for (const auto& [step, r2] : {std::pair<std::uint64_t, double>{60, 0.9}, {70, 0.8}}) {
    std::vector<EvaluationRow> both = test_row(step, 0.5, 0);
    both[1].measured[Measure::r2] = r2;
    rows.insert(rows.end(), both.begin(), both.end());
  }
  best.restore(rows);
  EXPECT_EQ(best.step(), 60);
  EXPECT_EQ(best.without_improvement(), 1);
}

TEST(BestEvaluation, AnotherMetricForgetsTheEvaluationsWithoutImprovementOfTheOldOne) {
  BestEvaluation best(Metric{DataPart::test, "loss"}, 3);
  for (const std::uint64_t step : {10, 20, 30, 40}) best.take(test_row(step, 0.5, 0));
  ASSERT_EQ(best.without_improvement(), 3);
  best.restore({});  // what was read is of another metric, and no row is left
  EXPECT_EQ(best.without_improvement(), 0);
  EXPECT_EQ(best.step(), -1);
  EXPECT_FALSE(best.patience_is_over());
}

TEST(BestEvaluation, WithoutAMetricNothingIsTheBestAndNothingEnds) {
  BestEvaluation best;
  EXPECT_FALSE(best.take(test_row(10, 0.5, 0)));
  EXPECT_FALSE(best.patience_is_over());
  CheckpointState state;
  best.save(state);
  EXPECT_TRUE(state.arrays.empty() && state.texts.empty());
}

}  // namespace mylos::best_evaluation_test

// Which evaluation was the best, and when patience is over.
#include "mylos/train/best_evaluation.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace mylos::best_evaluation_test {

/// The test data's loss and accuracy.
std::vector<EvaluationRow> test_row(std::uint64_t step, double loss, double accuracy) {
  return {{.step = step, .part = DataPart::train, .loss = 0},
          {.step = step, .part = DataPart::test, .loss = loss, .accuracy = accuracy}};
}

TEST(BestEvaluation, IsTheLeastLossAndOfEqualsTheFirst) {
  BestEvaluation best(Metric{DataPart::test, Quantity::loss});
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
  BestEvaluation best(Metric{DataPart::test, Quantity::accuracy});
  EXPECT_TRUE(best.take(test_row(10, 0, 0)));
  EXPECT_TRUE(best.take(test_row(20, 9, 0.25)));
  EXPECT_FALSE(best.take(test_row(30, 0, 0.25)));
  EXPECT_EQ(best.step(), 20);
}

TEST(BestEvaluation, IsNoneThatIsNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  BestEvaluation best(Metric{DataPart::test, Quantity::loss}, 3);
  EXPECT_FALSE(best.take(test_row(10, nan, 0)));
  EXPECT_EQ(best.text(), "");
  EXPECT_TRUE(best.take(test_row(20, std::numeric_limits<double>::infinity(), 0)));
  EXPECT_TRUE(best.take(test_row(30, 7, 0)));
  EXPECT_FALSE(best.take(test_row(40, nan, 0)));
  EXPECT_EQ(best.step(), 30);
}

TEST(BestEvaluation, PatienceIsOverAfterSoManyWithoutABetterOne) {
  BestEvaluation best(Metric{DataPart::test, Quantity::loss}, 2);
  best.take(test_row(10, 0.5, 0));
  best.take(test_row(20, 0.6, 0));
  EXPECT_FALSE(best.patience_is_over());
  best.take(test_row(30, 0.5, 0));
  EXPECT_TRUE(best.patience_is_over());
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

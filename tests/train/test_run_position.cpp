// Where a run is, and when its start and its epochs are over.
#include "mylos/train/run/run_position.hpp"

#include <gtest/gtest.h>

namespace mylos::run_position_test {

/// 500 samples in batches of 48, which join epochs.
RunPosition at(std::int64_t step) {
  return {.epochs = {.length = 500, .batch = 48}, .total = 32, .max_of_start = 0, .first = 0, .step = step};
}

TEST(RunPosition, AnEpochEndsWithTheStepThatReachesIntoTheNext) {
  EXPECT_FALSE(at(10).ends_epoch());
  EXPECT_TRUE(at(11).ends_epoch());
  EXPECT_FALSE(at(12).ends_epoch());
  EXPECT_EQ(at(11).epoch(), 1);
  EXPECT_EQ(at(11).samples(), 528);
  EXPECT_DOUBLE_EQ(at(11).passes(25), 2.4);
}

TEST(RunPosition, AStartIsOverAfterItsOwnStepsOrAtTheRunsEnd) {
  RunPosition position = at(20);
  position.first = 15;
  EXPECT_FALSE(position.start_is_over());
  position.max_of_start = 5;
  EXPECT_TRUE(position.start_is_over());
  EXPECT_FALSE(position.at_end());
  position.max_of_start = 20;
  position.step = 32;
  EXPECT_TRUE(position.start_is_over());
  EXPECT_TRUE(position.at_end());
}

// From step 15 to step 24, and from step 8 to step 11 again.
TEST(RunPosition, StepsThatWereTakenBackAreOfTheStartToo) {
  RunPosition before = at(24);
  before.first = 15;
  RunPosition position = at(8);
  position.continue_start(before.first, before.of_start());
  EXPECT_EQ(position.of_start(), 24 - 15) << "nothing is made anew yet";
  position.step = 11;
  EXPECT_EQ(position.of_start(), (24 - 15) + (11 - 8));
  position.max_of_start = 12;
  EXPECT_TRUE(position.start_is_over());
  position.max_of_start = 13;
  EXPECT_FALSE(position.start_is_over());
  RunPosition again = at(10);  // a second return
  again.continue_start(position.first, position.of_start());
  again.step = 12;
  EXPECT_EQ(again.of_start(), (24 - 15) + (11 - 8) + (12 - 10));
}

}  // namespace mylos::run_position_test

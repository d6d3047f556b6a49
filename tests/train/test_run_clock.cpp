// Where the time of a start goes.
#include "mylos/train/history/run_clock.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace mylos::run_clock_test {

void sleep_ms(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(RunClock, ThePartsAreAllOfTheTime) {
  RunClock clock;
  sleep_ms(5);  // set-up, which is not counted
  clock.start();
  sleep_ms(30);
  clock.count_steps({.communication_s = 0.008, .data_s = 0.002});
  sleep_ms(20);
  clock.count(&TimeParts::evaluation_s);
  sleep_ms(10);
  clock.count(&TimeParts::checkpoints_s);
  sleep_ms(10);
  clock.count_steps({.communication_s = 0.009, .data_s = 0.002});
  const double before_s = clock.of_start_s();
  clock.count(&TimeParts::other_s);
  const double after_s = clock.of_start_s();

  const TimeParts& parts = clock.parts();
  EXPECT_GE(parts.sum_s(), before_s - 1e-9);
  EXPECT_LE(parts.sum_s(), after_s + 1e-9);
  EXPECT_DOUBLE_EQ(parts.communication_s, 0.009) << "the trainer's seconds are of all steps so far";
  EXPECT_DOUBLE_EQ(parts.data_s, 0.002);
  EXPECT_GE(parts.compute_s, 0.040 - 0.011);
  EXPECT_GE(parts.evaluation_s, 0.020);
  EXPECT_GE(parts.checkpoints_s, 0.010);
  EXPECT_NEAR(parts.steps_s(), parts.sum_s() - parts.evaluation_s - parts.checkpoints_s - parts.other_s,
              1e-12);
}

TEST(RunClock, EarlierStartsCountForTheRunAndForNoPart) {
  RunClock clock;
  clock.continue_from(100);
  clock.start();
  clock.count(&TimeParts::other_s);
  EXPECT_GE(clock.elapsed_s(), 100);
  EXPECT_LT(clock.parts().sum_s(), 100);
}

}  // namespace mylos::run_clock_test

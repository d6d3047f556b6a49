#include <gtest/gtest.h>

#include "mylos/base/device/timing.hpp"

namespace mylos {
namespace {

TEST(Timing, MedianIsTheMiddleValueOrTheMeanOfTwo) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({9, 1, 4, 2}), 3);
}

TEST(Timing, WarmUpRunsAreMadeAndNotCounted) {
  int runs = 0;
  EXPECT_GE(median_milliseconds(2, 3, [&] { ++runs; }), 0);
  EXPECT_EQ(runs, 5);
}

}  // namespace
}  // namespace mylos

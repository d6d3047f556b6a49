// The number of groups of ranks that fit a node.
#include "mylos/sweep/run/sweep_memory.hpp"

#include <gtest/gtest.h>

namespace mylos::sweep_memory_test {

TEST(SweepMemory, DividesTheNodeByTheGroupsThatFit) {
  const auto needs = [](std::size_t bytes) { return [bytes](std::size_t part) { return part >= bytes; }; };
  EXPECT_EQ(groups_that_fit(4, 100, needs(25)), 4);
  EXPECT_EQ(groups_that_fit(4, 100, needs(26)), 3);
  EXPECT_EQ(groups_that_fit(4, 100, needs(100)), 1);
  EXPECT_EQ(groups_that_fit(4, 100, needs(101)), 0);
}

}  // namespace mylos::sweep_memory_test

// Lists that users ask for by a rule.
#include "mylos/planner/lists.hpp"

#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/model/memory/placement.hpp"

namespace mylos::lists_test {

using enum OperationKind;

TEST(Lists, EveryBlockOfThree) {
  const Schedule expected{{forward, 0, Keep::input},
                          {forward, 1, Keep::input},
                          {forward, 2, Keep::variant},
                          {loss, 3},
                          {backward, 2},
                          {forward, 1, Keep::variant},
                          {backward, 1},
                          {forward, 0, Keep::variant},
                          {backward, 0}};
  EXPECT_EQ(recompute_every(3, 1), expected);
}

TEST(Lists, EverySecondBlockOfFive) {
  const Schedule expected{{forward, 0, Keep::input},
                          {forward, 1, Keep::nothing},
                          {forward, 2, Keep::input},
                          {forward, 3, Keep::nothing},
                          {forward, 4, Keep::variant},
                          {loss, 5},
                          {backward, 4},
                          {forward, 2, Keep::variant},
                          {forward, 3, Keep::variant},
                          {backward, 3},
                          {backward, 2},
                          {forward, 0, Keep::variant},
                          {forward, 1, Keep::variant},
                          {backward, 1},
                          {backward, 0}};
  EXPECT_EQ(recompute_every(5, 2), expected);
}

TEST(Lists, GroupsLeaveTheOtherBlocksAlone) {
  const Schedule expected{{forward, 0, Keep::variant},
                          {forward, 1, Keep::input},
                          {forward, 2, Keep::nothing},
                          {forward, 3, Keep::variant},
                          {loss, 4},
                          {backward, 3},
                          {forward, 1, Keep::variant},
                          {forward, 2, Keep::variant},
                          {backward, 2},
                          {backward, 1},
                          {backward, 0}};
  EXPECT_EQ(recompute_groups(4, {{1, 2}}), expected);
}

TEST(Lists, NoGroupOrOneGroupOfAllKeepsAll) {
  EXPECT_EQ(recompute_groups(6, {}), store_all(6));
  EXPECT_EQ(recompute_groups(6, {{0, 5}}), store_all(6));
  EXPECT_EQ(recompute_every(6, 6), store_all(6));
  EXPECT_EQ(recompute_every(6, 1000), store_all(6));
}

TEST(Lists, EveryLengthOfGroupsCanBeExecuted) {
  const ChainCost cost{0, std::vector<StageCost>(13, {64, 64, {{"all", 128, 64, 0}}, 1, 2}), 64, 1};
  for (std::int64_t length = 1; length < 14; ++length)
    EXPECT_NO_THROW((void)place(trace_lifetimes(cost, recompute_every(13, length))));
}

TEST(Lists, RefusesGroupsThatAreNone) {
  EXPECT_THROW((void)recompute_every(4, 0), Error);
  EXPECT_THROW((void)recompute_groups(4, {{2, 1}}), Error);
  EXPECT_THROW((void)recompute_groups(4, {{-1, 1}}), Error);
  EXPECT_THROW((void)recompute_groups(4, {{0, 4}}), Error);
  EXPECT_THROW((void)recompute_groups(4, {{0, 1}, {1, 2}}), Error);
  EXPECT_THROW((void)recompute_groups(4, {{2, 3}, {0, 1}}), Error);
}

}  // namespace mylos::lists_test

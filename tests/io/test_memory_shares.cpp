// The shares of a machine's memory: budgets of ranks and of runs beside others, and the parts of a budget.
#include "mylos/io/system/memory_shares.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mylos/base/memory_is_host.hpp"
#include "mylos/io/system/process_pages.hpp"
#include "mylos/io/system/system_memory.hpp"

namespace mylos::memory_shares_test {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

TEST(RankBudget, IsTheDecksOrNineTenthsOfWhatIsLeftForEachRankOfTheNode) {
  EXPECT_EQ(rank_budget(500, {.ranks_on_node = 2}, 2), 500u);
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's budget is of what is free there";
  const auto left = static_cast<double>(available_host_memory());
  const double slack = 0.2 * left;  // other programs take and free memory
  EXPECT_NEAR(static_cast<double>(rank_budget(0, {.ranks_on_node = 1}, 0)), 0.9 * left, slack);
  EXPECT_NEAR(static_cast<double>(rank_budget(0, {.ranks_on_node = 4}, 0)), 0.9 * left / 4, slack / 4);
  const auto process = static_cast<std::size_t>(left);  // of ranks that have been started
  EXPECT_NEAR(static_cast<double>(rank_budget(0, {2, process}, 2)), 0.9 * 3 * left / 2, slack);
}

TEST(DeviceBudget, IsTheDecksOrNineTenthsOfTheDevice) {
  EXPECT_EQ(device_budget(0, 1000), 900u);
  EXPECT_EQ(device_budget(2000, 1000), 2000u) << "as of a deck for another device";
}

TEST(NodeShare, BoundsTheBudgetOfADeckAndIsUndividedForOneRun) {
  const NodeShare share{.ranks_on_node = 6, .budget_bytes = 100};
  EXPECT_EQ(share.budget(0), 100u);
  EXPECT_EQ(share.budget(40), 40u);
  EXPECT_EQ(share.budget(400), 100u);
  EXPECT_EQ(share.undivided(2), 300u) << "three runs of two ranks each";
  EXPECT_EQ(share.undivided(4), 100u) << "one run, and two ranks without one";
}

TEST(TokenShare, IsAnEighthOfABudgetThatIncludesTheHost) {
  if constexpr (!memory_is_host) GTEST_SKIP() << "a device's budget does not include the host";
  EXPECT_EQ(token_share(800, {.ranks_on_node = 4}), 100);
}

TEST(ProcessEntries, AreTheProcessAndAReserve) {
  const PartMemory entries = process_entries({.ranks_on_node = 1, .process_bytes = 7});
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0], (MemoryEntry{process_name, 7, false}));
  EXPECT_EQ(entries[1], (MemoryEntry{library_name, library_reserve, false}));
}

/// So that commands that have touched other pages of their libraries name the same budget.
TEST(ProcessMemory, HasAUsualNumberOfPagesOfFilesWhereFewerAreInMemory) {
  const std::int64_t pages = resident_file_pages();
  ASSERT_GT(pages, 0);
  const std::int64_t own = resident_memory() - pages;
  const auto counted = static_cast<std::int64_t>(process_memory());
  EXPECT_NEAR(static_cast<double>(counted), static_cast<double>(own + std::max(pages, 26 * mebibyte)),
              static_cast<double>(mebibyte))
      << "pages come between the calls";
}

}  // namespace mylos::memory_shares_test

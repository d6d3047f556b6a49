// The ranks of a node. Several nodes: tests/apps/test_placement.py.
#include "mylos/comm/ranks/rank_group.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "mylos/base/device/seconds_since.hpp"

namespace mylos::rank_group_test {

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A waiting rank must not occupy a core that other programs or ranks need.
TEST(Waiting, ForALateRankLeavesTheCoreToOthers) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  if (ranks.size() == 1) GTEST_SKIP() << "nobody to wait for";
  ranks.barrier();
  const double before_s = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  if (ranks.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  ranks.barrier();
  const double used_s = processor_seconds() - before_s;
  EXPECT_LT(used_s, 0.5 * seconds_since(start)) << "on rank " << ranks.rank();
}

TEST(RanksOfANode, AreNumberedInTheirOrder) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const NodePosition position = ranks.node_position();
  EXPECT_EQ(position.first, 0);
  EXPECT_EQ(position.index, ranks.rank());
  EXPECT_EQ(position.ranks, ranks.size());
  EXPECT_EQ(ranks.ranks_on_node(), ranks.size());
}

TEST(RanksOfANode, AreThoseOfTheGroupByItsOwnNumbers) {
  const RankGroup all(MPI_COMM_WORLD, 30);
  MPI_Comm half = MPI_COMM_NULL;  // in reverse order
  MPI_Comm_split(MPI_COMM_WORLD, all.rank() % 2, -all.rank(), &half);
  {
    RankGroup group(half, 30);
    const NodePosition position = group.node_position();
    EXPECT_EQ(position.first, 0);
    EXPECT_EQ(position.index, group.rank());
    EXPECT_EQ(position.ranks, group.size());
  }
  MPI_Comm_free(&half);
}

TEST(AProcessAlone, ExchangesWithItself) {
  RankGroup alone;
  EXPECT_EQ(alone.rank(), 0);
  EXPECT_EQ(alone.size(), 1);
  EXPECT_EQ(alone.ranks_on_node(), 1);
  const int given = 7;
  int all = 0;
  alone.all_gather(&given, &all, sizeof given);
  EXPECT_EQ(all, given);
  alone.broadcast(&all, sizeof all, 0);
  alone.barrier();
  EXPECT_EQ(all, given);
  EXPECT_THROW((void)alone.mpi(), Error);
}

}  // namespace mylos::rank_group_test

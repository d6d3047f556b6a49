// The ranks of a node. Several nodes: tests/apps/test_placement.py.
#include "mylos/comm/rank_group.hpp"

#include <gtest/gtest.h>

namespace mylos::rank_group_test {

TEST(RanksOfANode, AreNumberedInTheirOrder) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const NodePlace place = ranks.node_place();
  EXPECT_EQ(place.first, 0);
  EXPECT_EQ(place.index, ranks.rank());
  EXPECT_EQ(place.ranks, ranks.size());
  EXPECT_EQ(ranks.ranks_on_node(), ranks.size());
}

TEST(RanksOfANode, AreThoseOfTheGroupByItsOwnNumbers) {
  const RankGroup all(MPI_COMM_WORLD, 30);
  MPI_Comm half = MPI_COMM_NULL;  // the other way round
  MPI_Comm_split(MPI_COMM_WORLD, all.rank() % 2, -all.rank(), &half);
  {
    RankGroup group(half, 30);
    const NodePlace place = group.node_place();
    EXPECT_EQ(place.first, 0);
    EXPECT_EQ(place.index, group.rank());
    EXPECT_EQ(place.ranks, group.size());
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

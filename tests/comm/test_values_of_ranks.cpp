// Compares a value that should be the same on all ranks.
#include "mylos/comm/ranks/values_of_ranks.hpp"

#include <gtest/gtest.h>

namespace mylos::values_of_ranks_test {

std::vector<int> all_but(int rank, const RankGroup& ranks) {
  std::vector<int> others;
  for (int other = 0; other < ranks.size(); ++other) {
    if (other != rank) others.push_back(other);
  }
  return others;
}

TEST(ValuesOfRanks, AreOneWhereAllAreAlike) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const auto values = values_of_ranks(ranks, "same");
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].value, "same");
  EXPECT_EQ(values[0].ranks, all_but(-1, ranks));
}

TEST(ValuesOfRanks, BeginWithTheOddRankWhicheverItIs) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  if (ranks.size() < 3) GTEST_SKIP() << "of fewer than three ranks none is odd";
  for (int odd = 0; odd < ranks.size(); ++odd) {
    const auto values = values_of_ranks(ranks, ranks.rank() == odd ? "another value" : "value");
    ASSERT_EQ(values.size(), 2U);
    EXPECT_EQ(values[0].value, "another value");
    EXPECT_EQ(values[0].ranks, std::vector<int>{odd});
    EXPECT_EQ(values[1].value, "value");
    EXPECT_EQ(values[1].ranks, all_but(odd, ranks));
  }
}

TEST(ValuesOfRanks, EndWithThatOfRankZeroWhereEachRankHasItsOwn) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const auto values = values_of_ranks(ranks, std::to_string(ranks.rank()));
  ASSERT_EQ(values.size(), static_cast<std::size_t>(ranks.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const int rank = ranks.size() - 1 - static_cast<int>(i);
    EXPECT_EQ(values[i].value, std::to_string(rank));
    EXPECT_EQ(values[i].ranks, std::vector<int>{rank});
  }
}

TEST(ValuesOfRanks, AreDescribedByTheirRanks) {
  EXPECT_EQ(describe({{"5 samples", {1}}, {"6 samples", {0, 2, 3, 4}}}),
            "5 samples on rank 1, 6 samples on ranks 0 and 2-4");
}

TEST(NamesOfRanks, AreShort) {
  EXPECT_EQ(name_ranks({7}), "rank 7");
  EXPECT_EQ(name_ranks({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(name_ranks({0, 1, 2}), "ranks 0-2");
  EXPECT_EQ(name_ranks({0, 1, 2, 5, 6, 9, 10, 11}), "ranks 0-2, 5, 6 and 9-11");
  EXPECT_EQ(name_ranks({0, 2, 4, 6, 8, 10, 12, 14, 16}), "ranks 0, 2, 4, 6, 8, 10, 12, 14, ...");
}

}  // namespace mylos::values_of_ranks_test

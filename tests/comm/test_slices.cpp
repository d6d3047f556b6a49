#include <gtest/gtest.h>

#include "mylos/comm/ranks/slices.hpp"

namespace mylos::slices_test {

TEST(Slices, CoverEveryElementOnceInOrder) {
  for (const int ranks : {1, 2, 3, 4, 7, 64}) {
    for (const std::size_t count : {0u, 1u, 31u, 32u, 33u, 1000u, 1863690u}) {
      std::size_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const SliceRange range = slice_of(count, ranks, rank);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.size(), slice_length(count, ranks));
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
  }
}

TEST(Slices, StartOnCacheLinesInTheNarrowestType) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::size_t count : {1u, 65u, 999u}) {
      EXPECT_EQ(slice_length(count, ranks) * 2 % 64, 0u);
    }
  }
}

TEST(Slices, PaddingIsLessThanOneGranulePerRank) {
  EXPECT_EQ(slice_length(1000, 1), 1024u);
  EXPECT_EQ(slice_length(1024, 4), 256u);
  EXPECT_EQ(slice_length(1025, 4), 288u);
  EXPECT_EQ(slice_of(3, 4, 0).size(), 3u);
  EXPECT_EQ(slice_of(3, 4, 3).size(), 0u);
}

}  // namespace mylos::slices_test

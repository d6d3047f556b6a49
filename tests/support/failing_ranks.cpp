// Tests that fail on some ranks, as test_rank_failures.py expects.
#include <gtest/gtest.h>
#include <mpi.h>

#include <stdexcept>

namespace {

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

TEST(OnAllRanks, Passes) {
  SUCCEED();
}

TEST(OnTheLastTwoOfThreeRanks, Differs) {
  EXPECT_LT(own_rank(), 1) << "this rank is another one";
}

TEST(OnTheMiddleRank, Throws) {
  if (own_rank() == 1) throw std::runtime_error("a test's own exception");
}

}  // namespace

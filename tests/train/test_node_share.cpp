// No rank of a node takes memory before all have measured what is free.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "mylos/train/plan/shared_plan.hpp"

namespace mylos::node_share_test {
namespace {

bool is_slow = false;       // this rank, after each all-gather
double end_of_pause_s = 0;  // by a clock that the ranks of a node share

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pause_if_slow() {
  if (!is_slow) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  end_of_pause_s = now_s();
}

}  // namespace
}  // namespace mylos::node_share_test

/// MPI's profiling interface: the others have this rank's part before it pauses.
extern "C" int MPI_Iallgather(const void* sent, int sent_count, MPI_Datatype sent_type, void* received,
                              int received_count, MPI_Datatype received_type, MPI_Comm communicator,
                              MPI_Request* request) {
  const int code = PMPI_Iallgather(sent, sent_count, sent_type, received, received_count, received_type,
                                   communicator, request);
  mylos::node_share_test::pause_if_slow();
  return code;
}

namespace mylos::node_share_test {

TEST(NodeShare, IsReturnedWhenTheSlowestRankHasMeasured) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  if (ranks.size() == 1) GTEST_SKIP() << "one rank waits for none";
  is_slow = ranks.rank() == ranks.size() - 1;
  static_cast<void>(share_of_node(ranks));
  const double own_s = now_s();
  const double slowest_s = end_of_pause_s;
  is_slow = false;
  std::vector<double> returned_s(static_cast<std::size_t>(ranks.size()));
  std::vector<double> paused_s(returned_s);
  ranks.all_gather(&own_s, returned_s.data(), sizeof own_s);
  ranks.all_gather(&slowest_s, paused_s.data(), sizeof slowest_s);
  EXPECT_GT(paused_s.back(), 0);
  EXPECT_GE(*std::min_element(returned_s.begin(), returned_s.end()), paused_s.back());
}

}  // namespace mylos::node_share_test

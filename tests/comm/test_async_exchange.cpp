// Exchanges that ranks join at different times.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "mylos/comm/group/async_exchange.hpp"

namespace mylos::async_exchange_test {

std::vector<std::byte> bytes_of_rank(int rank, std::size_t count) {
  return std::vector<std::byte>(count, static_cast<std::byte>(rank + 1));
}

/// Returns the steps that this rank makes until the exchange has ended here.
int steps_until_end(AsyncExchange& exchange) {
  int steps = 0;
  for (; !exchange.ended() && steps < 60'000; ++steps)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return steps;
}

TEST(AsyncExchange, BringsTheFirstRanksBytesToAll) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  AsyncExchange exchange(ranks);
  EXPECT_FALSE(exchange.ended());
  exchange.broadcast(bytes_of_rank(ranks.rank(), 3000));
  EXPECT_LT(steps_until_end(exchange), 60'000);
  EXPECT_EQ(exchange.take(), bytes_of_rank(0, 3000));
}

TEST(AsyncExchange, GathersWhileOtherThingsAreExchanged) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  AsyncExchange exchange(ranks);
  for (int round = 0; round < 3; ++round) {
    // Ranks join after different numbers of steps; in each step all ranks make another exchange.
    int joined = -1;
    int ended = -1;
    std::vector<std::byte> all;
    for (int step = 0; step < 200; ++step) {
      if (step == 2 * ranks.rank()) {
        exchange.gather(bytes_of_rank(ranks.rank(), 700));
        joined = step;
      }
      if (joined >= 0 && ended < 0 && exchange.ended()) {
        all = exchange.take();
        ended = step;
      }
      ranks.barrier();
    }
    EXPECT_GE(ended, joined);
    if (ranks.rank() != 0) continue;
    EXPECT_GE(ended, 2 * (ranks.size() - 1)) << "not before the last has joined";
    std::vector<std::byte> expected;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const std::vector<std::byte> own = bytes_of_rank(rank, 700);
      expected.insert(expected.end(), own.begin(), own.end());
    }
    EXPECT_EQ(all, expected);
  }
}

TEST(AsyncExchange, IsOneAtATime) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  AsyncExchange exchange(ranks);
  exchange.gather(bytes_of_rank(ranks.rank(), 1));
  EXPECT_THROW(exchange.gather(bytes_of_rank(ranks.rank(), 1)), Error);
  EXPECT_THROW(exchange.broadcast(bytes_of_rank(ranks.rank(), 1)), Error);
  EXPECT_LT(steps_until_end(exchange), 60'000);
}

}  // namespace mylos::async_exchange_test

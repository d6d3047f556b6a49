#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "support/refusal.hpp"

namespace mylos::collective_error_test {

TEST(CollectiveError, WhatOneRankThrowsAllRanksThrowWithItsCodeAndRank) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  if (ranks.size() == 1) GTEST_SKIP() << "needs a rank that does not fail";
  for (int failing = 0; failing < ranks.size(); ++failing) {
    const auto run = [&] {
      run_on_all(ranks, [&] {
        if (ranks.rank() == failing) fail_input(errors::missing_dataset, "train.h5 lacks 'inputs'");
      });
    };
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::missing_dataset,
                              {fmt::format("rank {}: train.h5 lacks 'inputs'", failing)}, run));
  }
}

TEST(CollectiveError, TheSameMessageOnAllRanksNeedsNoRank) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  try {
    run_on_all(ranks, [] { fail_input(errors::no_such_file, "x.h5: cannot be opened"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x.h5: cannot be opened [no-such-file]");
  }
}

TEST(CollectiveError, OfDifferentMessagesTheLowestRankIsHeard) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  if (ranks.size() < 3) GTEST_SKIP() << "needs two failing ranks and one that does not fail";
  try {
    run_on_all(ranks, [&] {
      if (ranks.rank() == 1) throw std::runtime_error("bad_alloc");
      if (ranks.rank() == 2) fail_input(errors::damaged, "something else");
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    EXPECT_STREQ(error.what(), "rank 1: bad_alloc [internal]");
  }
}

TEST(CollectiveError, NothingIsThrownWhenAllIsWell) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  int calls = 0;
  run_on_all(ranks, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CollectiveError, WorkOfEachMayLastLongerThanRanksWait) {
  RankGroup ranks(MPI_COMM_WORLD, 0.3);
  int calls = 0;
  run_on_each(ranks, [&] {
    if (ranks.rank() == ranks.size() - 1) std::this_thread::sleep_for(std::chrono::milliseconds(900));
    ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(CollectiveError, WhatWorkOfEachThrowsOnOneIsThrownOnAll) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  const int failing = ranks.size() - 1;
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write, {"the disk is gone"}, [&] {
    run_on_each(ranks, [&] {
      if (ranks.rank() == failing) fail_run(errors::cannot_write, "the disk is gone");
    });
  }));
}

TEST(CollectiveError, TextTravelsWholeAndMayBeEmpty) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  const int last = ranks.size() - 1;
  const std::string deck(100'000, 'x');
  EXPECT_EQ(broadcast_text(ranks, ranks.rank() == 0 ? deck : ""), deck);
  EXPECT_EQ(broadcast_text(ranks, ranks.rank() == last ? "" : "not this", last), "");
}

}  // namespace mylos::collective_error_test

// How many threads a rank takes of what the deck, the environment and the machine say.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../../apps/mylos/launch/thread_count.hpp"
#include "mylos/base/device/threads.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "support/refusal.hpp"

namespace {

using namespace mylos;
using namespace mylos::app;

constexpr CoreShare eight_cores{8, 1};

TEST(ThreadCount, OfTheDeckComesBeforeTheVariable) {
  EXPECT_EQ(thread_count(3, "5", eight_cores, 1), 3);
  EXPECT_EQ(thread_count(3, "65536", eight_cores, 1), 3);
}

TEST(ThreadCount, OfTheVariableIsItsFirstNumber) {
  EXPECT_EQ(thread_count(0, "5", eight_cores, 1), 5);
  EXPECT_EQ(thread_count(0, " 4 , 2", eight_cores, 1), 4);
  EXPECT_EQ(thread_count(0, "512", eight_cores, 1), max_threads);
}

TEST(ThreadCount, OfAnEmptyVariableIsThatOfTheCores) {
  for (const char* empty : {static_cast<const char*>(nullptr), "", "  "}) {
    EXPECT_EQ(thread_count(0, empty, eight_cores, 1), 8);
    EXPECT_EQ(thread_count(0, empty, {8, 3}, 1), 2);
    EXPECT_EQ(thread_count(0, empty, eight_cores, 4), 2);
    EXPECT_EQ(thread_count(0, empty, eight_cores, 100), 1);
  }
}

TEST(ThreadCount, StaysWithinTheQuotaOfAContainer) {
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 128, .ranks = 1, .quota = 2}, 1), 2);
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 128, .ranks = 4, .quota = 8, .ranks_of_quota = 4}, 1), 2);
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 32, .ranks = 1, .quota = 8, .ranks_of_quota = 4}, 1), 2)
      << "ranks that are bound apart";
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 128, .ranks = 1, .quota = 8}, 4), 2) << "planned ranks";
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 4, .ranks = 1, .quota = 100}, 1), 4);
  EXPECT_EQ(thread_count(0, nullptr, {.cores = 8, .ranks = 3, .quota = 2, .ranks_of_quota = 3}, 1), 1);
  EXPECT_EQ(thread_count(0, "6", {.cores = 8, .ranks = 1, .quota = 2}, 1), 6);
}

TEST(ThreadCount, OfVeryManyCoresStaysWithinTheLimit) {
  EXPECT_EQ(thread_count(0, nullptr, {1024, 1}, 1), max_threads);
  EXPECT_EQ(thread_count(0, nullptr, {1024, 4}, 1), 256);
}

TEST(ThreadCount, ThatIsNoneIsRefusedByItsName) {
  for (const char* wrong :
       {"513", "600", "65536", "99999999999999999999", "0", "-1", "many", "4x", ",4", "4.5"}) {
    EXPECT_TRUE(mylos::test::refuses(ExitCode::bad_input, mylos::errors::bad_argument,
                                     {fmt::format("OMP_NUM_THREADS is '{}'; ", wrong), "from 1 to 512"},
                                     [&] { static_cast<void>(thread_count(0, wrong, eight_cores, 1)); }));
  }
}

}  // namespace

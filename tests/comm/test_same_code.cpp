// Ranks whose builds are for devices of different vendors.
#include "mylos/comm/ranks/same_code.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/command_line.hpp"
#include "support/refusal.hpp"

namespace mylos::same_code_test {

TEST(SameCode, OfAllRanksIsTaken) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  EXPECT_NO_THROW(require_same_code(ranks));
  EXPECT_NO_THROW(require_one_vendor(ranks, "AMD"));
}

TEST(SameCode, OfTwoVendorsIsRefusedOnEveryRankAndNamesThem) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  if (ranks.size() == 1) GTEST_SKIP() << "one rank has one vendor";
  const bool is_last = ranks.rank() == ranks.size() - 1;
  const std::string last = "on rank " + std::to_string(ranks.size() - 1);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::ranks_disagree,
                            {"AMD devices " + last, "NVIDIA devices on rank", "devices of one vendor"},
                            [&] { require_one_vendor(ranks, is_last ? "AMD" : "NVIDIA"); }));
  EXPECT_TRUE(test::refuses(errors::ranks_disagree, {"a build for hosts " + last},
                            [&] { require_one_vendor(ranks, is_last ? "" : "AMD"); }));
}

}  // namespace mylos::same_code_test

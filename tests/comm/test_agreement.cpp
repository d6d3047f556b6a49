#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "comm/communicator_builders.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "support/device_values.hpp"
#include "support/refusal.hpp"
#include "support/tree.hpp"

namespace mylos::agreement_test {

class Agreement : public testing::Test {
 protected:
  AgreementResult agree() {
    test::copy_to_device(&flags, buffer.own_flags(), sizeof(flags));
    test::copy_to_device(&sums, buffer.own_sums(), sizeof(sums));
    communicator->agree(execution, buffer);
    communicator->synchronize(execution);
    check_scales(execution, *communicator, buffer);
    return buffer.read(execution);
  }

  AgreementFlags flags;
  AgreementSums sums;
  Execution execution;
  std::unique_ptr<Communicator> communicator = test::all_ranks();
  int rank = communicator->rank();
  int ranks = communicator->size();
  AgreementBuffer buffer{rank, ranks};
};

TEST_F(Agreement, NothingHappenedMeansNothingIsSkipped) {
  flags.set_scale(65536);
  const AgreementResult agreed = agree();
  EXPECT_EQ(agreed.overflow, 0);
  EXPECT_EQ(agreed.stop, 0);
  EXPECT_EQ(agreed.error, 0);
  EXPECT_EQ(agreed.scales_differ, 0);
  EXPECT_EQ(agreed.skip, 0);
}

TEST_F(Agreement, WhatHappensOnOneRankIsSeenByAll) {
  for (int concerned = 0; concerned < ranks; ++concerned) {
    for (int flag = 0; flag < 3; ++flag) {
      flags = {};
      flags.set_scale(1024);
      if (rank == concerned) {
        (flag == 0 ? flags.overflow : flag == 1 ? flags.stop : flags.error) = rank + 1;
      }
      const AgreementResult agreed = agree();
      EXPECT_EQ(agreed.overflow, flag == 0 ? concerned + 1 : 0);
      EXPECT_EQ(agreed.stop, flag == 1 ? concerned + 1 : 0);
      EXPECT_EQ(agreed.error, flag == 2 ? concerned + 1 : 0);
      EXPECT_EQ(agreed.skip, flag == 1 ? 0 : 1);
    }
  }
}

TEST_F(Agreement, SumsAreFoldedByTheTreeOverRanksToTheSameBits) {
  // 1e16 + 1 = 1e16 in double, but 1 + 1 + 1e16 is more: the order shows in the bits.
  const auto norm = [](int r) { return r == 0 ? 1e16 : 1.0; };
  flags.set_scale(1);
  sums = {norm(rank), 3.0 + rank, 0.1 * rank};
  const AgreementResult agreed = agree();
  const AgreementSums expected{test::sum_by_tree<double>(0, ranks, norm),
                               test::sum_by_tree<double>(0, ranks, [](int r) { return 3.0 + r; }),
                               test::sum_by_tree<double>(0, ranks, [](int r) { return 0.1 * r; })};
  EXPECT_EQ(std::bit_cast<std::uint64_t>(agreed.sums.squared_norm),
            std::bit_cast<std::uint64_t>(expected.squared_norm));
  EXPECT_EQ(agreed.sums.samples, expected.samples);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(agreed.sums.loss), std::bit_cast<std::uint64_t>(expected.loss));
}

TEST_F(Agreement, ANormThatIsNotANumberStaysOneOnEveryRank) {
  flags.set_scale(1);
  sums = {rank == ranks - 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0, 1, 1};
  EXPECT_TRUE(std::isnan(agree().sums.squared_norm));
}

TEST_F(Agreement, DifferentScalesAreFatalOnAllRanksAndBothAreNamed) {
  if (ranks == 1) GTEST_SKIP() << "one rank always agrees with itself";
  for (int odd = 1; odd < ranks; ++odd) {
    for (const float scale : {32768.0f, 131072.0f, std::nextafter(65536.0f, 0.0f)}) {
      flags.set_scale(rank == odd ? scale : 65536.0f);
      EXPECT_TRUE(test::refuses(ExitCode::failed, errors::internal,
                                {"65536 on rank 0", fmt::format("{} on rank {}", scale, odd)},
                                [&] { agree(); }));
      EXPECT_EQ(buffer.read(execution).skip, 1);
    }
  }
}

}  // namespace mylos::agreement_test

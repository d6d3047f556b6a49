// Ranks with different states are detected before a checkpoint is written.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/write/replicas.hpp"

namespace mylos::replicas_test {

using test::SampleState;
using testing::HasSubstr;

std::uint64_t checksum(SampleState state) {
  return state_checksum(Execution(), state.view());
}

void flip_bit(float& value, int bit) {
  std::uint32_t word = 0;
  std::memcpy(&word, &value, sizeof word);
  word ^= std::uint32_t{1} << bit;
  std::memcpy(&value, &word, sizeof word);
}

TEST(Checksum, ChangesWithEveryBitAndWithTheOrder) {
  const SampleState state = SampleState::filled(3);
  const std::uint64_t sum = checksum(state);
  EXPECT_EQ(checksum(state), sum);
  for (std::size_t i = 0; i < state.weight.size(); i += 97) {
    for (int bit = 0; bit < 32; ++bit) {
      SampleState other = state;
      flip_bit(other.weight[i], bit);
      EXPECT_NE(checksum(other), sum) << i << ", bit " << bit;
    }
  }
  SampleState swapped = state;
  std::swap(swapped.weight[5], swapped.weight[600]);
  EXPECT_NE(checksum(swapped), sum);
  SampleState scaled = state;
  scaled.scale *= 2;
  EXPECT_NE(checksum(scaled), sum);
  SampleState moved = state;
  moved.bias[0] = state.weight[3];
  moved.weight[3] = state.bias[0];
  EXPECT_NE(checksum(moved), sum);
  SampleState exchanged = state;
  std::swap(exchanged.bias[0], exchanged.weight[0]);
  EXPECT_NE(checksum(exchanged), sum) << "the first elements of two arrays";
}

TEST(Replicas, OfEqualRanksPass) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  SampleState state = SampleState::filled(3);
  state.norms[0] = ranks.rank();  // in host memory, and no scalar: may differ, as times do
  EXPECT_NO_THROW(require_equal_replicas(ranks, Execution(), state.view()));
}

TEST(Replicas, NameTheRankThatDiffersOnAllRanks) {
  RankGroup ranks(MPI_COMM_WORLD, 60);
  if (ranks.size() == 1) GTEST_SKIP() << "one rank has no replica";
  const int culprit = ranks.size() - 1;
  SampleState state = SampleState::filled(3);
  if (ranks.rank() == culprit) flip_bit(state.weight[1000], 0);
  try {
    require_equal_replicas(ranks, Execution(), state.view());
    ADD_FAILURE() << "rank " << ranks.rank() << " has found nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failed);
    EXPECT_EQ(error.id(), errors::replicas_differ);
    // If two ranks differ, it is unknown which of them is correct.
    if (ranks.size() > 2) {
      EXPECT_THAT(error.what(), HasSubstr(fmt::format("rank {} of {} ", culprit, ranks.size())));
    }
    EXPECT_THAT(error.what(), HasSubstr("--restart latest"));
  }
}

}  // namespace mylos::replicas_test

// A checkpoint that ranks write asynchronously, piece by piece: it is complete, contains the state at its
// start, and no rank waits for another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <numeric>
#include <thread>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/piece_writer.hpp"

namespace mylos::piece_writer_test {

using test::SampleState;
using testing::HasSubstr;

constexpr std::int64_t rows = 37, columns = 29, size = rows * columns;

class PieceWriting : public testing::Test {
 protected:
  /// Returns the replicated arrays, and this rank's part of a matrix sharded inside rows.
  CheckpointState state_with(float first) {
    const std::int64_t begin = size * ranks.rank() / ranks.size();
    const std::int64_t end = size * (ranks.rank() + 1) / ranks.size();
    part.resize(static_cast<std::size_t>(end - begin));
    std::iota(part.begin(), part.end(), first + static_cast<float>(begin));
    sample = SampleState::filled(static_cast<int>(first));
    CheckpointState state = sample.view();
    state.add_weights("/model/hidden1/weight", begin, {part.data(), DType::fp32, 1, end - begin},
                      {rows, columns}, true);
    return state;
  }
  void expect_file(int step, float first) {
    ranks.barrier();
    SampleState read_sample;
    CheckpointState state = read_sample.view();
    std::vector<float> matrix(static_cast<std::size_t>(size));
    state.add_device("/model/hidden1/weight", matrix.data(), {rows, columns});
    const CheckpointReader reader(ranks, checkpoint_path(folder.path(), step));
    reader.read(state);
    std::vector<float> expected(static_cast<std::size_t>(size));
    std::iota(expected.begin(), expected.end(), first);
    EXPECT_EQ(matrix, expected);
    EXPECT_TRUE(read_sample.same_bits(SampleState::filled(static_cast<int>(first))));
    EXPECT_EQ(reader.header().step, step);
  }
  /// Only the first rank receives the outcome.
  void expect_path(const std::optional<CheckpointOutcome>& outcome, int step) {
    ASSERT_EQ(outcome.has_value(), ranks.rank() == 0);
    if (!outcome) return;
    EXPECT_FALSE(outcome->error) << outcome->error->what();
    EXPECT_EQ(outcome->step, step);
    EXPECT_EQ(outcome->path, checkpoint_path(folder.path(), step));
  }
  [[nodiscard]] bool has_left_overs() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() + "/checkpoints")) {
      if (entry.path().extension() == ".tmp") return true;
    }
    return false;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::vector<float> part;
  SampleState sample;
};

TEST_F(PieceWriting, KeepsTheStateOfTheMomentItWasBegun) {
  PieceWriter writer(ranks, state_with(1));
  for (const int step : {1, 2, 3}) {
    writer.begin(folder.path(), test::header_of(step), state_with(static_cast<float>(step)), {});
    static_cast<void>(state_with(99));  // the run continues
    expect_path(writer.wait(), step);
    EXPECT_FALSE(writer.wait());
  }
  expect_file(2, 2);
  expect_file(3, 3);
  EXPECT_EQ(list_checkpoints(folder.path()).size(), 2u);  // keep_last
}

TEST_F(PieceWriting, MovesOnWhereRanksLookAtTimesOfTheirOwn) {
  PieceWriter writer(ranks, state_with(5));
  writer.begin(folder.path(), test::header_of(5), state_with(5), {});
  const auto step_time = std::chrono::milliseconds(1 + 3 * ranks.rank());
  std::optional<CheckpointOutcome> outcome;
  const std::string latest = folder.path() + "/checkpoints/latest";
  for (int polls = 0; polls < 20'000 && !outcome && !std::filesystem::exists(latest); ++polls) {
    outcome = writer.poll();
    std::this_thread::sleep_for(step_time);
  }
  ranks.barrier();
  for (int polls = 0; polls < 20'000 && !outcome && ranks.rank() == 0; ++polls) {  // its thread may still run
    outcome = writer.poll();
    std::this_thread::sleep_for(step_time);
  }
  expect_path(outcome, 5);
  expect_file(5, 5);
}

TEST_F(PieceWriting, EndsOnAllRanksWhereTheFileCannotBeMade) {
  PieceWriter writer(ranks, state_with(1));
  const std::string in_the_way = checkpoint_path(folder.path(), 1) + ".tmp";
  if (ranks.rank() == 0) std::filesystem::create_directories(in_the_way);
  ranks.barrier();
  writer.begin(folder.path(), test::header_of(1), state_with(1), {});
  const auto outcome = writer.wait();
  ASSERT_EQ(outcome.has_value(), ranks.rank() == 0);
  if (outcome) {
    ASSERT_TRUE(outcome->error);
    EXPECT_EQ(outcome->error->id(), errors::not_a_file);
    EXPECT_THAT(outcome->error->what(), HasSubstr("step-0000000001.h5"));
    EXPECT_TRUE(outcome->path.empty());
  }
  writer.begin(folder.path(), test::header_of(2), state_with(2), {});
  expect_path(writer.wait(), 2);
  expect_file(2, 2);
}

TEST_F(PieceWriting, NamesTheRankThatCouldNotWriteAndLeavesNothing) {
  PieceWriter writer(ranks, state_with(1));
  const int last = ranks.size() - 1;
  if (last == 0) GTEST_SKIP() << "rank 0 has the file open";
  const std::string elsewhere = folder.path() + (ranks.rank() == last ? "/gone" : "");
  writer.begin(elsewhere, test::header_of(1), state_with(1), {});
  const auto outcome = writer.wait();
  if (ranks.rank() == 0) {
    ASSERT_TRUE(outcome && outcome->error);
    EXPECT_THAT(outcome->error->what(), HasSubstr("rank " + std::to_string(last) + ": "));
    EXPECT_EQ(outcome->error->id(), errors::cannot_write);
    EXPECT_FALSE(has_left_overs());
  }
  writer.begin(folder.path(), test::header_of(2), state_with(2), {});
  expect_path(writer.wait(), 2);
  expect_file(2, 2);
}

TEST_F(PieceWriting, IsWaitedForAtTheEndOfItsLife) {
  {
    PieceWriter writer(ranks, state_with(4));
    writer.begin(folder.path(), test::header_of(4), state_with(4), {});
  }
  ranks.barrier();
  EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 4))) << "no rank knew of the others";
  if (ranks.rank() == 0) {
    EXPECT_FALSE(has_left_overs());
  }
}

}  // namespace mylos::piece_writer_test

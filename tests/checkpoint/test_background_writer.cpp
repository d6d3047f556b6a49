// An asynchronous checkpoint contains the state at the time it was started, regardless of later changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/background_writer.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos::background_writer_test {

using test::SampleState;
using testing::HasSubstr;

class Background : public testing::Test {
 protected:
  [[nodiscard]] bool writes() const { return ranks.rank() == 0; }
  SampleState read(int step) {
    ranks.barrier();
    SampleState state;
    CheckpointState view = state.view();
    CheckpointReader(ranks, checkpoint_path(folder.path(), step)).read(view);
    return state;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(Background, WritesTheStateOfTheMomentItWasBegun) {
  SampleState state = SampleState::filled(1);
  if (writes()) {
    BackgroundWriter writer(state.view());
    for (const int step : {1, 2, 3}) {
      state = SampleState::filled(step);
      writer.begin(folder.path(), test::header_of(step), state.view(), {});
      state = SampleState::filled(99);  // the run continues
      const auto outcome = writer.wait();
      ASSERT_TRUE(outcome);
      EXPECT_FALSE(outcome->error);
      EXPECT_EQ(outcome->step, step);
      EXPECT_EQ(outcome->path, checkpoint_path(folder.path(), step));
      EXPECT_FALSE(writer.wait());
    }
  }
  EXPECT_TRUE(read(2).same_bits(SampleState::filled(2)));
  EXPECT_TRUE(read(3).same_bits(SampleState::filled(3)));
  EXPECT_EQ(list_checkpoints(folder.path()).size(), 2u);  // keep_last
}

TEST_F(Background, WritesTheBytesThatAllRanksWriteTogether) {
  SampleState state = SampleState::filled(7);
  const std::string together = write_checkpoint(ranks, folder.path(), test::header_of(7), state.view(), {});
  SampleState read_together = read(7);
  if (writes()) {
    CheckpointHeader header = test::header_of(8);
    header.world_size = ranks.size();
    BackgroundWriter writer(state.view());
    writer.begin(folder.path(), header, state.view(), {});
    ASSERT_FALSE(writer.wait()->error);
  }
  EXPECT_TRUE(read(8).same_bits(read_together));
  EXPECT_EQ(CheckpointReader(ranks, checkpoint_path(folder.path(), 8)).header().world_size, ranks.size());
}

TEST_F(Background, TellsTheErrorAndLeavesTheOlderFiles) {
  SampleState state = SampleState::filled(1);
  write_checkpoint(ranks, folder.path(), test::header_of(1), state.view(), {});
  if (writes()) {
    BackgroundWriter writer(state.view());
    std::filesystem::create_directory(checkpoint_path(folder.path(), 2) + ".tmp");  // blocks the file
    writer.begin(folder.path(), test::header_of(2), state.view(), {});
    const auto outcome = writer.wait();
    ASSERT_TRUE(outcome && outcome->error);
    EXPECT_EQ(outcome->error->id(), errors::not_a_file);
    EXPECT_THAT(outcome->error->what(), HasSubstr("step-0000000002.h5"));
    EXPECT_TRUE(outcome->path.empty());
    writer.begin(folder.path(), test::header_of(3), state.view(), {});
    EXPECT_FALSE(writer.wait()->error);
  }
  EXPECT_TRUE(read(1).same_bits(state));
  EXPECT_TRUE(read(3).same_bits(state));
}

TEST_F(Background, IsWaitedForAtTheEndOfItsLife) {
  SampleState state = SampleState::filled(4);
  if (writes()) BackgroundWriter(state.view()).begin(folder.path(), test::header_of(4), state.view(), {});
  EXPECT_TRUE(read(4).same_bits(state));
}

TEST_F(Background, HasOneWriteInFlight) {
  SampleState state = SampleState::filled(5);
  if (!writes()) return;
  BackgroundWriter writer(state.view());
  writer.begin(folder.path(), test::header_of(5), state.view(), {});
  EXPECT_THROW(writer.begin(folder.path(), test::header_of(6), state.view(), {}), Error);
}

}  // namespace mylos::background_writer_test

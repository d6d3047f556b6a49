#include "mylos/checkpoint/write/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos::folder_test {

using test::SampleState;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  void write(int step, const CheckpointOptions& options = {}, std::int64_t best_step = -1) {
    SampleState state = SampleState::filled(step);
    CheckpointHeader header = test::header_of(step);
    header.best_step = best_step;
    write_checkpoint(ranks, folder.path(), header, state.view(), options);
  }
  [[nodiscard]] std::int64_t best() {
    ranks.barrier();
    const auto named = best_checkpoint(folder.path());
    ranks.barrier();
    return named ? named->step : -1;
  }
  [[nodiscard]] std::vector<std::int64_t> steps() {
    ranks.barrier();
    std::vector<std::int64_t> result;
    for (const CheckpointFile& file : list_checkpoints(folder.path())) result.push_back(file.step);
    ranks.barrier();
    return result;
  }
  [[nodiscard]] std::string latest() {
    ranks.barrier();
    std::string name;
    std::ifstream(folder.path() + "/checkpoints/latest") >> name;
    ranks.barrier();
    return name;
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(Folder, ARunIsNamedByItsFolderOrByThatOfItsCheckpoints) {
  write(500, {});
  EXPECT_EQ(run_folder(folder.path()), folder.path());
  EXPECT_EQ(run_folder(folder.path() + "/checkpoints"), folder.path());
  EXPECT_EQ(run_folder(folder.path() + "/checkpoints/"), folder.path());
  EXPECT_EQ(run_folder("checkpoints"), ".");
  EXPECT_EQ(run_folder("nowhere"), "nowhere") << "what is missing is for those to say that read it";
}

TEST_F(Folder, TheNewestAreKeptAndThoseOfRoundSteps) {
  CheckpointOptions options;
  options.keep_last = 2;
  options.keep_every = 1000;
  for (int step = 500; step <= 3000; step += 500) write(step, options);
  EXPECT_THAT(steps(), ElementsAre(1000, 2000, 2500, 3000));
  EXPECT_EQ(latest(), "step-0000003000.h5");
}

TEST_F(Folder, KeepLastZeroKeepsAll) {
  CheckpointOptions options;
  options.keep_last = 0;
  for (int step = 1; step <= 4; ++step) write(step, options);
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3, 4));
}

// 120 and 170: written at a stop, or by time.
TEST_F(Folder, TheLastRegularOnesAreKeptWhateverElseIsWritten) {
  CheckpointOptions options;
  options.every = 50;
  options.keep_last = 2;
  options.keep_last_regular = true;
  for (const int step : {50, 100, 120}) write(step, options);
  EXPECT_THAT(steps(), ElementsAre(50, 100, 120));
  for (const int step : {150, 170}) write(step, options);
  EXPECT_THAT(steps(), ElementsAre(100, 150, 170));
  options.every = 0;
  write(180, options);
  EXPECT_THAT(steps(), ElementsAre(170, 180));
}

TEST_F(Folder, TheBestIsKeptUntilThereIsABetterOne) {
  CheckpointOptions options;
  options.keep_last = 2;
  options.keep_every = 500;
  write(100, options, 100);
  for (const int step : {200, 300, 400}) write(step, options, 100);
  EXPECT_THAT(steps(), ElementsAre(100, 300, 400));
  EXPECT_EQ(best(), 100);
  write(500, options, 500);
  EXPECT_THAT(steps(), ElementsAre(400, 500));
  for (const int step : {600, 700, 800}) write(step, options, step == 600 ? 600 : 700);
  EXPECT_THAT(steps(), ElementsAre(500, 700, 800));
  EXPECT_EQ(best(), 700);
}

TEST_F(Folder, ABestThatWasNotWrittenLeavesTheOneBefore) {
  write(100, {}, 100);
  for (const int step : {300, 400, 500}) write(step, {}, 200);
  EXPECT_EQ(best(), 100);
  EXPECT_THAT(steps(), ElementsAre(100, 400, 500));
}

TEST_F(Folder, NoBestIsNamedThatWasSetAside) {
  CheckpointOptions options;
  options.keep_last = 0;
  for (const int step : {100, 200, 300}) write(step, options, 200);
  set_aside_newer(ranks, folder.path(), 200);
  EXPECT_EQ(best(), 200);
  set_aside_newer(ranks, folder.path(), 100);
  EXPECT_EQ(best(), -1);
  EXPECT_FALSE(fs::exists(folder.path() + "/checkpoints/best"));
}

TEST_F(Folder, WhatIsNoNameOfACheckpointHereIsNoBest) {
  write(100);
  if (ranks.rank() == 0)
    std::ofstream(folder.path() + "/checkpoints/best") << "../checkpoints/step-0000000100.h5";
  EXPECT_EQ(best(), -1);
}

TEST_F(Folder, AFolderThatWasUsedIsRefusedAsBadInput) {
  EXPECT_NO_THROW(require_unused_folder(ranks, folder.path()));
  write(500);
  try {
    require_unused_folder(ranks, folder.path());
    FAIL() << "rank " << ranks.rank();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_EQ(error.id(), errors::folder_has_checkpoints);
    EXPECT_THAT(error.what(), HasSubstr("step-0000000500.h5"));
    EXPECT_THAT(error.what(), HasSubstr("--restart latest"));
  }
}

TEST_F(Folder, AutoStartsAfreshWhereLatestInsists) {
  const RestartChoice choice = find_checkpoint(ranks, folder.path(), "auto");
  EXPECT_FALSE(choice.path);
  EXPECT_THAT(choice.messages, IsEmpty());
  try {
    (void)find_checkpoint(ranks, folder.path(), "latest");
    FAIL() << "rank " << ranks.rank();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
  }
}

TEST_F(Folder, AllRanksTakeTheSameFile) {
  write(500);
  write(1000);
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "auto").path, checkpoint_path(folder.path(), 1000));
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "latest").path, checkpoint_path(folder.path(), 1000));
}

TEST_F(Folder, ARestartFromAnOlderFileSetsTheNewerAside) {
  CheckpointOptions options;
  options.keep_last = 0;
  for (const int step : {100, 200, 300}) write(step, options);
  const auto moved = set_aside_newer(ranks, folder.path(), 100);
  EXPECT_EQ(moved.size(), ranks.rank() == 0 ? 2u : 0u);
  EXPECT_THAT(steps(), ElementsAre(100));
  EXPECT_EQ(latest(), "step-0000000100.h5");
  for (const int step : {200, 300}) write(step, options);
  set_aside_newer(ranks, folder.path(), 200);
  ranks.barrier();
  const std::string aside = folder.path() + "/checkpoints/superseded/";
  for (const char* name : {"step-0000000200.h5", "step-0000000300.h5", "step-0000000300.h5.1"}) {
    EXPECT_TRUE(fs::exists(aside + name)) << name;
  }
}

TEST_F(Folder, ARestartInAFolderWithoutCheckpointsMovesNothing) {
  EXPECT_TRUE(set_aside_newer(ranks, folder.path(), -1).empty());
  EXPECT_FALSE(fs::exists(folder.path() + "/checkpoints"));
}

TEST_F(Folder, AFolderThatCannotBeMadeIsAnErrorOnAllRanks) {
  const std::string file = folder.path() + "/file";
  if (ranks.rank() == 0) std::ofstream(file) << "not a folder";
  ranks.barrier();
  SampleState state = SampleState::filled(1);
  EXPECT_THROW(write_checkpoint(ranks, file, test::header_of(1), state.view(), {}), Error);
}

}  // namespace mylos::folder_test

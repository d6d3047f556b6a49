// A disk that becomes full: a small tmpfs, if this process may mount one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"

namespace mylos::full_disk_test {

using test::SampleState;
using testing::HasSubstr;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    int mounted = 1;
    if (ranks.rank() == 0)
      mounted = mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=1m") == 0 ? 1 : 0;
    ranks.broadcast(&mounted, sizeof mounted, 0);
    mounted_ = mounted == 1;
    if (!mounted_) GTEST_SKIP() << "a tmpfs cannot be mounted here";
  }
  void TearDown() override {
    ranks.barrier();
    if (mounted_ && ranks.rank() == 0) umount2(folder.path().c_str(), MNT_DETACH);
    ranks.barrier();
  }
  void fill_disk(std::size_t leave) {
    ranks.barrier();
    if (ranks.rank() == 0) {
      const auto free_bytes = std::filesystem::space(folder.path()).available;
      std::ofstream(folder.path() + "/ballast", std::ios::binary) << std::string(free_bytes - leave, 'x');
    }
    ranks.barrier();
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  bool mounted_ = false;
};

TEST_F(FullDisk, AllRanksAreToldAndThePreviousCheckpointIsWhole) {
  for (const std::size_t quarters : {0, 1, 3}) {  // of what a checkpoint takes
    SampleState state = SampleState::filled(100);
    write_checkpoint(ranks, folder.path(), test::header_of(100), state.view(), {});
    fill_disk(std::filesystem::file_size(checkpoint_path(folder.path(), 100)) * quarters / 4);
    try {
      write_checkpoint(ranks, folder.path(), test::header_of(200), state.view(), {});
      ADD_FAILURE() << "rank " << ranks.rank() << " wrote to a full disk";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::failed);
      EXPECT_EQ(error.id(), errors::cannot_write);
      EXPECT_THAT(error.what(), HasSubstr("disk is full"));
    }
    ranks.barrier();
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200) + ".tmp"));
    const RestartChoice choice = find_checkpoint(ranks, folder.path(), "latest");
    ASSERT_EQ(choice.path, checkpoint_path(folder.path(), 100));
    SampleState read;
    CheckpointState view = read.view();
    CheckpointReader(ranks, *choice.path).read(view);
    EXPECT_TRUE(read.same_bits(state));
    ranks.barrier();
    if (ranks.rank() == 0) std::filesystem::remove(folder.path() + "/ballast");
    ranks.barrier();
  }
}

TEST_F(FullDisk, OnWhichItJustFitsTakesACheckpoint) {
  constexpr std::size_t other_files = std::size_t{24} << 10;  // the name of the newest, and pages
  SampleState state = SampleState::filled(100);
  write_checkpoint(ranks, folder.path(), test::header_of(100), state.view(), {});
  fill_disk(std::filesystem::file_size(checkpoint_path(folder.path(), 100)) + other_files);
  EXPECT_NO_THROW(write_checkpoint(ranks, folder.path(), test::header_of(200), state.view(), {}));
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "latest").path, checkpoint_path(folder.path(), 200));
}

}  // namespace mylos::full_disk_test

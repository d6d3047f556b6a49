// A disk that fails one rank's writes, or that is slower than the timeout, while all ranks write between
// steps; and a disk that fails reads.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::failing_disk_test {

using test::SampleState;

struct Disk {
  bool refuses = false;
  bool refuses_to_read = false;
  int refused_write = 0;  // one write of all fails, by its number from 1 on
  int writes = 0;
  std::chrono::milliseconds delay{0};
};

/// This rank's disk, for checkpoint files during writing.
Disk& disk() {
  static Disk disk;
  return disk;
}

bool is_for_values(int descriptor) {
  return (fcntl(descriptor, F_GETFL) & O_ACCMODE) == O_WRONLY;  // HDF5 reads, too
}

bool is_file_of(const char* suffix, int descriptor) {
  std::error_code failure;
  const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), failure);
  return !failure && path.string().ends_with(suffix);
}

}  // namespace mylos::failing_disk_test

/// These functions override the C library's in this program.
extern "C" ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  using namespace mylos::failing_disk_test;
  if (is_file_of(".h5.tmp", descriptor) && ++disk().writes == disk().refused_write) {
    errno = EIO;
    return -1;
  }
  if ((disk().refuses || disk().delay.count() > 0) && is_file_of(".h5.tmp", descriptor)) {
    std::this_thread::sleep_for(disk().delay);
    if (disk().refuses && is_for_values(descriptor)) {
      errno = EIO;
      return -1;
    }
  }
  return syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}

extern "C" ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  using namespace mylos::failing_disk_test;
  if (disk().refuses_to_read && is_file_of("step-0000000200.h5", descriptor)) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, descriptor, data, bytes, offset);
}

namespace mylos::failing_disk_test {

class FailingDisk : public testing::Test {
 protected:
  void TearDown() override { disk() = {}; }

  static constexpr double timeout_s = 0.5;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  RankGroup hasty{MPI_COMM_WORLD, timeout_s};
  test::SharedFolder folder{ranks};
};

TEST_F(FailingDisk, OfOneRankEndsTheWriteOnAllAndTheOlderCheckpointStays) {
  SampleState state = SampleState::filled(100);
  write_checkpoint(ranks, folder.path(), test::header_of(100), state.view(), {});
  for (int failing = 0; failing < ranks.size(); ++failing) {
    disk().refuses = ranks.rank() == failing;
    EXPECT_TRUE(test::refuses(
        ExitCode::failed, errors::cannot_write, {".h5.tmp: cannot be written: ", "Input/output error"},
        [&] { write_checkpoint(ranks, folder.path(), test::header_of(200), state.view(), {}); }))
        << "rank " << ranks.rank();
    disk() = {};
    ranks.barrier();
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200)));
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200) + ".tmp"));
    EXPECT_EQ(find_checkpoint(ranks, folder.path(), "latest").path, checkpoint_path(folder.path(), 100));
    ranks.barrier();
  }
}

/// HDF5's writes of the structure among them.
TEST_F(FailingDisk, AtAnyWriteOfTheFirstRankEndsTheWriteOnAll) {
  SampleState state = SampleState::filled(100);
  write_checkpoint(ranks, folder.path(), test::header_of(100), state.view(), {});
  int writes = disk().writes;
  ranks.broadcast(&writes, sizeof writes, 0);
  ASSERT_GT(writes, 5);
  for (int refused = 1; refused <= writes; ++refused) {
    disk() = {};
    if (ranks.rank() == 0) disk().refused_write = refused;
    EXPECT_TRUE(test::refuses(
        ExitCode::failed, errors::cannot_write, {"Input/output error"},
        [&] { write_checkpoint(ranks, folder.path(), test::header_of(200), state.view(), {}); }))
        << "write " << refused << ", rank " << ranks.rank();
    ranks.barrier();
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200)));
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200) + ".tmp"));
    ranks.barrier();
  }
}

TEST_F(FailingDisk, ThatCannotReadTheNewestCheckpointDoesNotCostItsSteps) {
  SampleState state = SampleState::filled(100);
  for (const int step : {100, 200})
    write_checkpoint(ranks, folder.path(), test::header_of(step), state.view(), {});
  for (const char* restart : {"auto", "latest"}) {
    disk().refuses_to_read = ranks.rank() == 0;
    EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_read,
                              {"step-0000000200.h5: ", " at byte ", "/checkpoints"},
                              [&] { (void)find_checkpoint(ranks, folder.path(), restart); }));
    disk() = {};
  }
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "auto").path, checkpoint_path(folder.path(), 200));
}

TEST_F(FailingDisk, ThatCannotReadAFileWhoseDigestIsSoundIsNotTakenForDamage) {
  const auto require = [&](ExitCode code, ErrorId id) {
    require_damage(Error(code, id, "runs/a/checkpoints/step-0000000200.h5: /model"), "runs/a");
  };
  EXPECT_NO_THROW(require(ExitCode::bad_input, errors::damaged));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_read,
                            {"step-0000000200.h5", "runs/a/checkpoints"},
                            [&] { require(ExitCode::bad_input, errors::cannot_read); }));
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::out_of_memory, {"step-0000000200.h5"},
                            [&] { require(ExitCode::failed, errors::out_of_memory); }));
}

TEST_F(FailingDisk, ThatIsSlowOnOneRankIsWaitedFor) {
  SampleState state = SampleState::filled(100);
  // Of several writes; the first rank makes more.
  if (ranks.rank() == ranks.size() - 1)
    disk().delay = std::chrono::milliseconds(ranks.rank() == 0 ? 50 : 400);
  write_checkpoint(hasty, folder.path(), test::header_of(100), state.view(), {});
  EXPECT_EQ(find_checkpoint(ranks, folder.path(), "latest").path, checkpoint_path(folder.path(), 100));
}

}  // namespace mylos::failing_disk_test

// A disk that returns other bytes than were written: the data written by all ranks is compared with the data
// in memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/checkpoint/write/folder.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "support/refusal.hpp"

namespace mylos::decaying_disk_test {

using test::SampleState;

/// Bytes in which the disk flips a bit after they are written; empty: the disk is intact.
std::string& decaying_bytes() {
  static std::string bytes;
  return bytes;
}

void decay(int descriptor) {
  const std::string& bytes = decaying_bytes();
  if (bytes.empty()) return;
  std::error_code failure;
  const auto path =
      std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", descriptor), failure).string();
  if (failure || !path.ends_with(".h5.tmp")) return;
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  const auto offset = contents.str().find(bytes);
  if (offset == std::string::npos) return;  // not written yet, or gone already
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset + bytes.size() - 1));
  file.put(static_cast<char>(bytes.back() ^ 1));
}

}  // namespace mylos::decaying_disk_test

/// Overrides the C library's function in this program.
extern "C" int fsync(int descriptor) {
  mylos::decaying_disk_test::decay(descriptor);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace mylos::decaying_disk_test {

class DecayingDisk : public testing::Test {
 protected:
  void TearDown() override { decaying_bytes().clear(); }
  /// Returns whether all ranks refuse a checkpoint with these bytes, in which the disk flips a bit.
  testing::AssertionResult refuses(const std::string& path, const std::string& bytes) {
    SampleState state = SampleState::filled(200);
    if (ranks.rank() == 0) decaying_bytes() = bytes;
    return test::refuses(ExitCode::failed, errors::damaged, {path + " ", "CRC-32"}, [&] {
      write_checkpoint(ranks, folder.path(), test::header_of(200), state.view(), {});
    });
  }
  template <class T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }

  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(DecayingDisk, WhatWasWrittenIsComparedAndTheOlderCheckpointStays) {
  SampleState older = SampleState::filled(100);
  write_checkpoint(ranks, folder.path(), test::header_of(100), older.view(), {});
  const SampleState state = SampleState::filled(200);
  const std::vector<std::pair<std::string, std::string>> datasets = {
      {"/model/hidden0/weight", bytes_of(state.weight)},
      {"/model/hidden0/bias", bytes_of(state.bias)},
      {"/optimizer/norms", bytes_of(state.norms)},
      {"/random/keys", bytes_of(state.keys)},
      {"/plan/list", bytes_of(state.plan)},
      {"/data/identity", "fashion, 60000 samples"},
      {"/deck", test::header_of(200).deck}};
  for (const auto& [path, bytes] : datasets) {
    EXPECT_TRUE(refuses(path, bytes));
    ranks.barrier();
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200)));
    EXPECT_FALSE(std::filesystem::exists(checkpoint_path(folder.path(), 200) + ".tmp"));
    EXPECT_EQ(find_checkpoint(ranks, folder.path(), "latest").path, checkpoint_path(folder.path(), 100));
    ranks.barrier();  // before the first rank writes the next one
  }
}

}  // namespace mylos::decaying_disk_test

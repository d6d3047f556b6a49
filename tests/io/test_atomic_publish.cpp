#include "mylos/io/atomic_publish.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "io/support.hpp"

namespace mylos::atomic_publish_test {

using namespace testing_support;

TEST(AtomicPublish, AFileAppearsWholeAndReplacesTheOlderOne) {
  const TemporaryFolder folder;
  write_file(folder / "state", "old");
  PendingFile pending(folder / "state");
  write_file(pending.temporary(), "new");
  EXPECT_EQ(read_file(folder / "state"), "old");
  pending.publish();
  EXPECT_EQ(read_file(folder / "state"), "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "state.tmp"));
}

TEST(AtomicPublish, ItsFolderIsMadeOrTheErrorSaysWhyNot) {
  const TemporaryFolder folder;
  PendingFile pending(folder / "new/folder/state");
  write_file(pending.temporary(), "x");
  pending.publish();
  EXPECT_EQ(read_file(folder / "new/folder/state"), "x");

  write_file(folder / "file", "x");
  try {
    PendingFile impossible(folder / "file/state");
    ADD_FAILURE() << "a file was taken for a folder";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("its folder cannot be made"), std::string::npos) << error.what();
  }
}

TEST(AtomicPublish, WhatFailsLeavesTheOlderFileAndNothingElse) {
  const TemporaryFolder folder;
  write_file(folder / "state", "old");
  {
    PendingFile pending(folder / "state");
    write_file(pending.temporary(), "half of the n");
  }
  EXPECT_EQ(read_file(folder / "state"), "old");
  EXPECT_FALSE(std::filesystem::exists(folder / "state.tmp"));
}

TEST(AtomicPublish, ANameThatGetsTooLongWhileItIsWrittenIsRefusedWithTheLimit) {
  const TemporaryFolder folder;
  const std::string longest(251, 'n');
  {
    PendingFile pending(folder / longest);
    write_file(pending.temporary(), "x");
    pending.publish();
  }
  EXPECT_EQ(read_file(folder / longest), "x");
  const std::string shown(60, 'n');
  for (const int bytes : {252, 255, 256, 100'000}) {
    const std::string name = "new/" + std::string(static_cast<std::size_t>(bytes), 'n');
    EXPECT_EQ(
        error_of([&] { PendingFile(folder / name); }),
        fmt::format("{}...: this file name has {} bytes, at most 251 are possible (4 go to .tmp while it is "
                    "written)",
                    shown, bytes));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  std::string deep;
  while (deep.size() < 5000) deep += "folder/";
  EXPECT_NE(
      error_of([&] { PendingFile("/" + deep + "file"); }).find("this path has 5010 bytes, at most 4091 are"),
      std::string::npos);
}

TEST(AtomicPublish, ReservedSpaceIsReallyTaken) {
  const TemporaryFolder folder;
  write_file(folder / "file", "x");
  reserve_space(folder / "file", 1 << 20);
  struct stat status {};
  ASSERT_EQ(stat((folder / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 1 << 20);
  EXPECT_GE(status.st_blocks * 512, 1 << 20);
  EXPECT_EQ(read_file(folder / "file").front(), 'x');
}

TEST(AtomicPublish, AFullDiskSaysWhatIsNeededAndWhatIsFree) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file(path, "x");
  struct statvfs disk {};
  ASSERT_EQ(statvfs(folder.path().c_str(), &disk), 0);
  const auto bytes = static_cast<std::int64_t>(disk.f_blocks * disk.f_frsize) + (std::int64_t{1} << 40);
  const std::string message = error_of([&] { reserve_space(path, bytes); }, ExitCode::failed);
  EXPECT_TRUE(message.starts_with(path + ": the disk is full: the file needs ")) << message;
  EXPECT_TRUE(message.ends_with(" bytes) are free in " + folder.path())) << message;
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 1);  // and nothing was taken in the attempt
}

TEST(AtomicPublish, AMissingTemporaryIsNamed) {
  EXPECT_EQ(error_of([] { publish("/nowhere/state"); }, ExitCode::failed),
            "/nowhere/state.tmp: cannot be opened: No such file or directory");
}

}  // namespace mylos::atomic_publish_test

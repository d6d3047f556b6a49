#include "mylos/io/files/atomic_publish.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
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

TEST(AtomicPublish, TheTemporaryIsItsOwnFromTheBeginning) {
  const TemporaryFolder folder;
  write_file(folder / "state.tmp", "of a process that was ended");
  {
    const PendingFile pending(folder / "state");
    EXPECT_EQ(read_file(pending.temporary()), "");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "state.tmp"));
}

TEST(AtomicPublish, WhatStandsInTheWayIsNamedAndStays) {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  const std::string said =
      path + ".tmp: is there and is not a file; " + path + " is written under that name first, so remove it";
  std::filesystem::create_directory(path + ".tmp");
  EXPECT_EQ(error_of([&] { PendingFile{path}; }, ExitCode::failed), said);
  EXPECT_TRUE(std::filesystem::exists(path + ".tmp"));
  std::filesystem::remove(path + ".tmp");

  write_file(folder / "another", "kept");
  std::filesystem::create_symlink(folder / "another", path + ".tmp");
  EXPECT_EQ(error_of([&] { PendingFile{path}; }, ExitCode::failed), said);
  EXPECT_TRUE(std::filesystem::is_symlink(path + ".tmp"));
  EXPECT_EQ(read_file(folder / "another"), "kept");
}

TEST(AtomicPublish, WhatIsReadIsNotWrittenUnderEitherName) {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  write_file(path, "x");
  write_file(path + ".tmp", "y");
  write_file(folder / "other", "z");
  EXPECT_EQ(error_of([&] { require_other_file(folder.path() + "/./state", path); }),
            path + ": is what is read; name another file to write");
  EXPECT_EQ(error_of([&] { require_other_file(folder.path() + "/./state.tmp", path); }),
            path + ".tmp: is what is read, and " + path +
                " is written under that name first; name another file to write");
  EXPECT_NO_THROW(require_other_file(folder / "other", path));
  EXPECT_NO_THROW(require_other_file(path, folder / "other"));
}

TEST(AtomicPublish, AFoldersNameIsNoFilesAndNothingIsMade) {
  const TemporaryFolder folder;
  for (const char* name : {"new/", "new/.", "new/..", "/"}) {
    const std::string path = folder / name;
    EXPECT_EQ(error_of([&] { PendingFile{path}; }), path + ": names a folder; name a file in it to write");
  }
  EXPECT_EQ(error_of([] { PendingFile{""}; }), "the file to write has no name");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
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
  EXPECT_EQ(status.st_size, 1);  // and the attempt allocated nothing
}

TEST(AtomicPublish, AFileLargerThanTheProcessMayWriteIsRefusedBeforeASignalEndsIt) {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  write_file(path, "x");
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 8192, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = error_of([&] { reserve_space(path, 10'000); }, ExitCode::failed);
  EXPECT_NO_THROW(reserve_space(path, 8192));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(message, path +
                         ": the file needs 9.766 KiB (10000 bytes), and files may have 8192 bytes here; "
                         "`ulimit -f` says and sets it");
}

TEST(AtomicPublish, AMissingTemporaryIsNamed) {
  EXPECT_EQ(error_of([] { publish("/nowhere/state"); }, ExitCode::failed),
            "/nowhere/state.tmp: cannot be opened: No such file or directory");
}

}  // namespace mylos::atomic_publish_test

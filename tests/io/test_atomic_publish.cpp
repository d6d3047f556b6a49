#include "mylos/io/files/atomic_publish.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "io/support.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"

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
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write, {folder / "file/state"},
                            [&] { PendingFile{folder / "file/state"}; }));
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
  const auto is_refused = [&] {
    return test::refuses(ExitCode::failed, errors::not_a_file, {path + ".tmp: ", path + " "},
                         [&] { PendingFile{path}; });
  };
  std::filesystem::create_directory(path + ".tmp");
  EXPECT_TRUE(is_refused());
  EXPECT_TRUE(std::filesystem::exists(path + ".tmp"));
  std::filesystem::remove(path + ".tmp");

  write_file(folder / "another", "kept");
  std::filesystem::create_symlink(folder / "another", path + ".tmp");
  EXPECT_TRUE(is_refused());
  EXPECT_TRUE(std::filesystem::is_symlink(path + ".tmp"));
  EXPECT_EQ(read_file(folder / "another"), "kept");
}

TEST(AtomicPublish, WhatIsReadIsNotWrittenUnderEitherName) {
  const TemporaryFolder folder;
  const std::string path = folder / "state";
  write_file(path, "x");
  write_file(path + ".tmp", "y");
  write_file(folder / "other", "z");
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::arguments_conflict, {path + ": "},
                            [&] { require_other_file(folder.path() + "/./state", path); }));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::arguments_conflict, {path + ".tmp: ", path + " "},
                            [&] { require_other_file(folder.path() + "/./state.tmp", path); }));
  EXPECT_NO_THROW(require_other_file(folder / "other", path));
  EXPECT_NO_THROW(require_other_file(path, folder / "other"));
}

TEST(AtomicPublish, AFoldersNameIsNoFilesAndNothingIsMade) {
  const TemporaryFolder folder;
  for (const char* name : {"new/", "new/.", "new/..", "/"}) {
    const std::string path = folder / name;
    EXPECT_TRUE(
        test::refuses(ExitCode::bad_input, errors::not_a_file, {path + ": "}, [&] { PendingFile{path}; }));
  }
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_argument, {}, [] { PendingFile{""}; }));
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
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_argument,
                              {shown + "...: ", fmt::format("{} bytes", bytes), "at most 251", "(4 ", ".tmp"},
                              [&] { PendingFile(folder / name); }));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  std::string deep;
  while (deep.size() < 5000) deep += "folder/";
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_argument, {"5010 bytes", "at most 4091"},
                            [&] { PendingFile("/" + deep + "file"); }));
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
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write,
                            {path + ": ", "disk is full", fmt::format("({} bytes)", bytes), folder.path()},
                            [&] { reserve_space(path, bytes); }));
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
  const auto is_refused = test::refuses(ExitCode::failed, errors::cannot_write,
                                        {path + ": ", "9.766 KiB (10000 bytes)", " 8192 bytes", "ulimit -f"},
                                        [&] { reserve_space(path, 10'000); });
  EXPECT_NO_THROW(reserve_space(path, 8192));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(is_refused);
}

TEST(AtomicPublish, AMissingTemporaryIsNamed) {
  const TemporaryFolder folder;
  PendingFile pending(folder / "state");
  std::filesystem::remove(pending.temporary());
  EXPECT_TRUE(test::refuses(ExitCode::failed, errors::cannot_write,
                            {folder / "state.tmp: ", "No such file or directory"},
                            [&] { pending.publish(); }));
}

TEST(AtomicPublish, ALinkUnderTheNameIsReplacedAndItsTargetKept) {
  const TemporaryFolder folder;
  write_file(folder / "another", "kept");
  std::filesystem::create_symlink(folder / "another", folder / "state");
  publish_text(folder / "state", "new");
  EXPECT_EQ(read_file(folder / "state"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "state"));
  EXPECT_EQ(read_file(folder / "another"), "kept");
}

}  // namespace mylos::atomic_publish_test

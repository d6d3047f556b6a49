#include "mylos/base/errors/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/support.hpp"
#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"

namespace mylos::regular_file_test {

using namespace testing_support;

/// Succeeds if the file is refused by its name, with this id and part.
::testing::AssertionResult is_refused(const std::string& path, ErrorId id, const std::string& part = "") {
  return test::refuses(ExitCode::bad_input, id, {path + ": ", part}, [&] { require_regular_file(path); });
}

TEST(RegularFile, IsTakenAlsoThroughALink) {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  std::filesystem::create_symlink("file", folder / "link");
  EXPECT_NO_THROW(require_regular_file(folder / "file"));
  EXPECT_NO_THROW(require_regular_file(folder / "link"));
}

TEST(RegularFile, APipeIsRefusedWithoutWaitingForAWriter) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(is_refused(folder / "pipe", errors::not_a_file, "pipe, "));
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_TRUE(is_refused("/dev/fd/" + std::to_string(ends[0]), errors::not_a_file,
                         "pipe, "));  // as in: mylos prepare csv <(zcat a.csv.gz)
  close(ends[0]);
  close(ends[1]);
}

TEST(RegularFile, WhatElseIsNoneIsNamed) {
  const TemporaryFolder folder;
  EXPECT_TRUE(is_refused(folder.path(), errors::not_a_file));
  EXPECT_TRUE(is_refused("/dev/null", errors::not_a_file));
  EXPECT_TRUE(is_refused(folder / "none", errors::no_such_file, "No such file or directory"));
  EXPECT_TRUE(is_refused("-", errors::not_a_file, "standard input"));
  const std::string here = std::filesystem::current_path().string();
  EXPECT_TRUE(is_refused("no-such-file", errors::no_such_file,
                         "No such file or directory (the current folder is " + here + ")"));
  EXPECT_TRUE(is_refused(std::string(300, 'n'), errors::cannot_read, "File name too long"));
}

}  // namespace mylos::regular_file_test

#include "mylos/base/errors/regular_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/support.hpp"

namespace mylos::regular_file_test {

using namespace testing_support;

std::string refusal(const std::string& path) {
  const std::string message = error_of([&] { require_regular_file(path); });
  return message.starts_with(path + ": ") ? message.substr(path.size() + 2) : message;
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
  const std::string pipe = "is a pipe, which can be read only once; write it to a file first, and name that";
  EXPECT_EQ(refusal(folder / "pipe"), pipe);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_EQ(refusal("/dev/fd/" + std::to_string(ends[0])),
            pipe);  // as in: mylos prepare csv <(zcat a.csv.gz)
  close(ends[0]);
  close(ends[1]);
}

TEST(RegularFile, WhatElseIsNoneIsNamed) {
  const TemporaryFolder folder;
  EXPECT_EQ(refusal(folder.path()), "is not a file");
  EXPECT_EQ(refusal("/dev/null"), "is not a file");
  EXPECT_EQ(refusal(folder / "none"), "cannot be opened: No such file or directory");
  EXPECT_EQ(refusal("-"), "standard input is not read; write it to a file first, and name that");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(refusal("no-such-file"),
            "cannot be opened: No such file or directory (the current folder is " + here + ")");
}

}  // namespace mylos::regular_file_test

#include "mylos/base/errors/file_text.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "io/support.hpp"
#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"

namespace mylos::file_text_test {

using namespace testing_support;

/// A regular file whose first byte cannot be read: there is no memory at 0.
constexpr const char* unreadable = "/proc/self/mem";

TEST(FileText, IsTheFileOrItsBeginning) {
  const TemporaryFolder folder;
  const std::string bytes = random_bytes(200000);
  write_file(folder / "file", bytes);
  write_file(folder / "empty", "");
  EXPECT_EQ(file_text(folder / "file"), bytes);
  EXPECT_EQ(file_text(folder / "file", 70000), bytes.substr(0, 70000));
  EXPECT_EQ(file_text(folder / "empty", 4), "");
}

TEST(FileText, WhatCannotBeReadIsNotTakenForTheEnd) {
  using test::refuses;
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::cannot_read, {unreadable, "Input/output error"},
                      [] { static_cast<void>(file_text(unreadable)); }));
  std::ifstream stream(unreadable);
  std::string line;
  EXPECT_FALSE(std::getline(stream, line));
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::cannot_read, {unreadable},
                      [&] { require_read(stream, unreadable); }));
  const TemporaryFolder folder;
  write_file(folder / "file", "one\n");
  std::ifstream whole(folder / "file");
  while (std::getline(whole, line)) continue;
  EXPECT_NO_THROW(require_read(whole, folder / "file"));
  EXPECT_NO_THROW(require_read(std::ifstream(folder / "none"), folder / "none"));
}

TEST(FileText, WhatIsNoFileIsNamed) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder / "pipe", folder.path()})
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_a_file, {path},
                              [&] { static_cast<void>(file_text(path)); }));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::no_such_file, {folder / "none"},
                            [&] { static_cast<void>(file_text(folder / "none")); }));
}

}  // namespace mylos::file_text_test

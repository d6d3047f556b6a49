// The names of errors, and their table.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/error_table.hpp"

namespace mylos::error_test {

TEST(ErrorTable, HasEachIdInOrderUnderItsName) {
  int next = 0;
  std::set<std::string_view> names;
  for (const ErrorTopic& topic : error_topics()) {
    for (const ErrorEntry& entry : topic.entries) {
      EXPECT_EQ(static_cast<int>(entry.id), next++) << entry.name;
      EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
      EXPECT_EQ(entry.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
      EXPECT_TRUE(entry.cause.ends_with('.') && entry.cure.ends_with('.')) << entry.name;
    }
  }
  EXPECT_EQ(next, static_cast<int>(ErrorId::internal) + 1);
}

TEST(ErrorTable, IsThePageOfErrors) {
  std::ostringstream page;
  page << std::ifstream(std::filesystem::path(MYLOS_SOURCE_DIR) / "docs/reference/errors.md").rdbuf();
  EXPECT_TRUE(page.str() == error_manual()) << "docs/reference/errors.md is not what the table says. Write "
                                               "it anew: build/host/bin/mylos manual --errors > "
                                               "docs/reference/errors.md";
}

TEST(Error, EndsWithItsName) {
  const Error error(ExitCode::bad_input, ErrorId::unknown_key, "deck.toml:3: unknown key 'run.step'");
  EXPECT_STREQ(error.what(), "deck.toml:3: unknown key 'run.step' [unknown-key]");
  EXPECT_EQ(error.message(), "deck.toml:3: unknown key 'run.step'");
  EXPECT_EQ(error.id(), ErrorId::unknown_key);
}

TEST(Error, IsMadeAgainFromItsText) {
  const Error error(ExitCode::failed, ErrorId::cannot_write, "a [b]: is full");
  const Error copy = Error::of_text(error.code(), error.what());
  EXPECT_STREQ(copy.what(), error.what());
  EXPECT_EQ(copy.id(), ErrorId::cannot_write);
  const Error foreign = Error::of_text(ExitCode::failed, "std::exception [no-name]");
  EXPECT_EQ(foreign.id(), ErrorId::internal);
  EXPECT_EQ(foreign.message(), "std::exception [no-name]");
}

TEST(Error, IsMadeOfAnyException) {
  const Error error(ExitCode::bad_input, ErrorId::unknown_key, "deck.toml:3: unknown key 'run.step'");
  const Error same = Error::of(error);
  EXPECT_STREQ(same.what(), error.what());
  EXPECT_EQ(same.code(), ExitCode::bad_input);
  EXPECT_EQ(same.id(), ErrorId::unknown_key);
  EXPECT_EQ(Error::of(std::bad_alloc()).id(), ErrorId::out_of_memory);
  const Error other = Error::of(std::runtime_error("no more"));
  EXPECT_EQ(other.code(), ExitCode::failed);
  EXPECT_STREQ(other.what(), "no more [internal]");
}

TEST(Error, KeepsItsNameWithMoreContext) {
  const Error error =
      Error(ExitCode::failed, ErrorId::damaged, "x.h5: is damaged").with("rank 2: x.h5: is damaged");
  EXPECT_STREQ(error.what(), "rank 2: x.h5: is damaged [damaged]");
}

}  // namespace mylos::error_test

// The names of errors, and their table.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/error_table.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/memory.hpp"

namespace mylos::error_test {

/// Returns the names of the ids that the headers of all topics define, each checked against its constant.
std::set<std::string> names_in_headers() {
  std::set<std::string> names;
  const std::regex id("constexpr ErrorId (\\w+)\\{\"([a-z-]+)\"\\}");
  const auto folder = std::filesystem::path(MYLOS_SOURCE_DIR) / "include/mylos/base/errors";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string header = text.str();
    for (std::sregex_iterator found(header.begin(), header.end(), id), end; found != end; ++found) {
      std::string constant = (*found)[1];
      std::replace(constant.begin(), constant.end(), '_', '-');
      EXPECT_EQ(constant, (*found)[2].str()) << file.path();
      EXPECT_TRUE(names.insert(constant).second) << constant;
    }
  }
  return names;
}

TEST(ErrorTable, HasEachIdOnce) {
  std::set<std::string> names;
  for (const ErrorTopic& topic : error_topics()) {
    for (const ErrorEntry& entry : topic.entries) {
      const std::string name(name_of(entry.id));
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_TRUE(entry.cause.ends_with('.') && entry.cure.ends_with('.')) << name;
      EXPECT_EQ(error_named(name), entry.id);
    }
  }
  EXPECT_EQ(names, names_in_headers());
  EXPECT_EQ(error_named("no-such-error"), std::nullopt);
}

TEST(ErrorTable, IsThePageOfErrors) {
  std::ostringstream page;
  page << std::ifstream(std::filesystem::path(MYLOS_SOURCE_DIR) / "docs/reference/errors.md").rdbuf();
  EXPECT_TRUE(page.str() == error_manual()) << "docs/reference/errors.md is not what the table says. Write "
                                               "it anew: build/host/bin/mylos manual --errors > "
                                               "docs/reference/errors.md";
}

TEST(Error, EndsWithItsName) {
  const Error error(ExitCode::bad_input, errors::unknown_key, "deck.toml:3: unknown key 'run.step'");
  EXPECT_STREQ(error.what(), "deck.toml:3: unknown key 'run.step' [unknown-key]");
  EXPECT_EQ(error.message(), "deck.toml:3: unknown key 'run.step'");
  EXPECT_EQ(error.id(), errors::unknown_key);
}

TEST(Error, IsMadeAgainFromItsText) {
  const Error error(ExitCode::failed, errors::cannot_write, "a [b]: is full");
  const Error copy = Error::of_text(error.code(), error.what());
  EXPECT_STREQ(copy.what(), error.what());
  EXPECT_EQ(copy.id(), errors::cannot_write);
  const Error foreign = Error::of_text(ExitCode::failed, "std::exception [no-name]");
  EXPECT_EQ(foreign.id(), errors::internal);
  EXPECT_EQ(foreign.message(), "std::exception [no-name]");
}

TEST(Error, IsMadeOfAnyException) {
  const Error error(ExitCode::bad_input, errors::unknown_key, "deck.toml:3: unknown key 'run.step'");
  const Error same = Error::of(error);
  EXPECT_STREQ(same.what(), error.what());
  EXPECT_EQ(same.code(), ExitCode::bad_input);
  EXPECT_EQ(same.id(), errors::unknown_key);
  EXPECT_EQ(Error::of(std::bad_alloc()).id(), errors::out_of_memory);
  const Error other = Error::of(std::runtime_error("no more"));
  EXPECT_EQ(other.code(), ExitCode::failed);
  EXPECT_STREQ(other.what(), "no more [internal]");
}

TEST(Error, KeepsItsNameWithMoreContext) {
  const Error error =
      Error(ExitCode::failed, errors::damaged, "x.h5: is damaged").with("rank 2: x.h5: is damaged");
  EXPECT_STREQ(error.what(), "rank 2: x.h5: is damaged [damaged]");
}

}  // namespace mylos::error_test

// history.csv on a disk that fills up.
#include "mylos/train/history/history.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/files.hpp"
#include "support/refusal.hpp"

namespace mylos::history_test {

/// Files of this process cannot grow beyond so many bytes while this lives: what a full disk does, in the
/// middle of a row.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = static_cast<rlim_t>(bytes);
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

class HistoryFile : public testing::Test {
 protected:
  HistoryFile() : path_(testing::TempDir() + "mylos_history_" + std::to_string(getpid()) + ".csv") {}
  ~HistoryFile() override { std::filesystem::remove(path_); }
  HistoryFile(const HistoryFile&) = delete;
  HistoryFile& operator=(const HistoryFile&) = delete;

  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The first column of all lines; the header's is "step".
  [[nodiscard]] std::vector<std::string> steps() const {
    std::ifstream file(path_);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line);) found.push_back(line.substr(0, line.find(',')));
    return found;
  }

  std::string path_;
};

std::vector<HistoryRow> rows(std::uint64_t first, std::uint64_t last) {
  std::vector<HistoryRow> result;
  for (std::uint64_t step = first; step <= last; ++step)
    result.push_back({.record = {.step = step, .loss = 0.5}});
  return result;
}

TEST_F(HistoryFile, NoPartOfARowStaysWhereTheDiskFills) {
  History history(path_);
  history.append(rows(1, 3));
  const std::string before = text();
  {
    const FullDisk disk(before.size() + 30);  // a row and a half
    EXPECT_TRUE(test::refuses(errors::cannot_write, {path_}, [&] { history.append(rows(4, 6)); }));
    EXPECT_EQ(text(), before);
    EXPECT_TRUE(test::refuses(errors::cannot_write, {path_}, [&] { history.append(rows(7, 7)); }));
    EXPECT_EQ(text(), before);
  }
  history.append({});
  EXPECT_EQ(steps().size(), 1 + 7u);
  history.append(rows(8, 8));
  EXPECT_EQ(steps(), (std::vector<std::string>{"step", "1", "2", "3", "4", "5", "6", "7", "8"}));
  EXPECT_EQ(history.tail().size(), 8u);
}

TEST_F(HistoryFile, ADiskThatIsFullFromTheStartCostsNeitherTheHeaderNorARow) {
  History history(path_);
  {
    const FullDisk disk(10);
    EXPECT_TRUE(test::refuses(errors::cannot_write, {path_}, [&] { history.append(rows(1, 2)); }));
    EXPECT_EQ(text(), "");
  }
  history.append(rows(3, 3));
  EXPECT_EQ(steps(), (std::vector<std::string>{"step", "1", "2", "3"}));
}

TEST_F(HistoryFile, ARestartCutsItBehindTheCheckpoint) {
  History(path_).append(rows(1, 5));
  std::ofstream(path_, std::ios::app) << "6,0.1,0.";  // a crash in the middle of a row
  History history(path_);
  EXPECT_EQ(history.resume({}, 3, 3), "");
  history.append(rows(4, 4));
  EXPECT_EQ(steps(), (std::vector<std::string>{"step", "1", "2", "3", "4"}));
}

TEST_F(HistoryFile, WhatItLacksAtARestartComesFromTheCheckpoint) {
  const auto kept = rows(3, 5);
  History history(path_);
  const std::string said = history.resume({kept.begin(), kept.end()}, 5, 5);
  EXPECT_THAT(said, testing::HasSubstr("3 rows taken from the checkpoint"));
  EXPECT_THAT(said, testing::HasSubstr("rows of 2 earlier steps are missing"));
  history.append(rows(6, 6));
  EXPECT_EQ(steps(), (std::vector<std::string>{"step", "3", "4", "5", "6"}));
}

TEST_F(HistoryFile, OfABuildWithOtherColumnsIsKeptAside) {
  const std::string older = "step,epoch,loss,elapsed_s\n1,0.1,0.5,2\n2,0.2,0.5,4\n";
  std::ofstream(path_) << older;
  const auto kept = rows(2, 2);
  History history(path_);
  const std::string said = history.resume({kept.begin(), kept.end()}, 2, 2);
  EXPECT_THAT(said, testing::HasSubstr(path_ + " has other columns: now " + path_ + ".1"));
  EXPECT_EQ(steps(), (std::vector<std::string>{"step", "2"}));
  std::ifstream aside(path_ + ".1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(aside), {}), older);
  std::filesystem::remove(path_ + ".1");
}

}  // namespace mylos::history_test

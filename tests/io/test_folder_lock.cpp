#include "mylos/io/files/folder_lock.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "io/support.hpp"

namespace mylos::folder_lock_test {

using namespace testing_support;
using Attempt = FolderLock::Attempt;

constexpr bool make = true;

TEST(FolderLock, LetsOneInAtATimeAndNamesIt) {
  const TemporaryFolder folder;
  const std::string run = folder / "runs/new";
  std::optional<FolderLock> first(run);
  EXPECT_EQ(first->try_to_take(make), Attempt::taken);
  first->name_holder(false);
  FolderLock second(run);
  EXPECT_EQ(second.try_to_take(make), Attempt::held);
  EXPECT_EQ(second.holder().name.find(fmt::format("process {} on ", getpid())), 0u) << second.holder().name;
  EXPECT_EQ(FolderLock(folder / "another").try_to_take(make), Attempt::taken);
  first.reset();
  EXPECT_EQ(second.try_to_take(make), Attempt::taken);
  EXPECT_EQ(second.holder().name, "another process") << "the one before it is still named";
}

TEST(FolderLock, SaysOfItsHolderThatItIsEnding) {
  const TemporaryFolder folder;
  FolderLock first(folder.path());
  ASSERT_EQ(first.try_to_take(make), Attempt::taken);
  first.name_holder(false);
  EXPECT_FALSE(FolderLock(folder.path()).holder().is_ending);
  first.name_holder(true);
  EXPECT_TRUE(FolderLock(folder.path()).holder().is_ending);
  EXPECT_EQ(FolderLock(folder.path()).holder().name.find("process "), 0u);
}

TEST(FolderLock, NamesNobodyWhoWasKilledOnceItIsTaken) {
  const TemporaryFolder folder;
  std::ofstream(folder / "lock") << "process 1 on " << std::string(255, 'x') << "\nending";
  FolderLock lock(folder.path());
  ASSERT_EQ(lock.try_to_take(!make), Attempt::taken);
  EXPECT_TRUE(lock.holder().is_ending);
  lock.replace_dead_holder();
  EXPECT_EQ(lock.holder().name.find(fmt::format("process {} on ", getpid())), 0u) << lock.holder().name;
  EXPECT_FALSE(lock.holder().is_ending);
}

TEST(FolderLock, WritesNothingWhereNobodyHasWorkedUnlessItIsToMakeIt) {
  const TemporaryFolder folder;
  const std::string run = folder / "new";
  EXPECT_EQ(FolderLock(run).try_to_take(!make), Attempt::absent);
  EXPECT_FALSE(std::filesystem::exists(run));
  EXPECT_EQ(FolderLock(folder.path()).try_to_take(!make), Attempt::absent);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(FolderLock(run).try_to_take(make), Attempt::taken);
  EXPECT_EQ(FolderLock(run).try_to_take(!make), Attempt::taken);
}

TEST(FolderLock, IsFreeOnceItsProcessWasKilled) {
  const TemporaryFolder folder;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    FolderLock lock(folder.path());
    const char ready = lock.try_to_take(make) == Attempt::taken ? 1 : 0;
    if (write(pipe_ends[1], &ready, 1) == 1) pause();
    _exit(0);
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  ASSERT_EQ(ready, 1);
  FolderLock lock(folder.path());
  EXPECT_EQ(lock.try_to_take(make), Attempt::held);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(lock.try_to_take(make), Attempt::taken);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(FolderLock, IsNotTakenInAFileThatWasDeleted) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  std::optional<FolderLock> first(run);
  ASSERT_EQ(first->try_to_take(make), Attempt::taken);
  FolderLock second(run);
  ASSERT_EQ(second.try_to_take(make), Attempt::held);
  std::filesystem::remove_all(run);
  first.reset();
  EXPECT_EQ(second.try_to_take(!make), Attempt::absent);
  EXPECT_EQ(second.try_to_take(make), Attempt::taken);
  EXPECT_EQ(FolderLock(run).try_to_take(make), Attempt::held);
}

}  // namespace mylos::folder_lock_test

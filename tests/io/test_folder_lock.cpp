#include "mylos/io/folder_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "io/support.hpp"

namespace mylos::folder_lock_test {

using namespace testing_support;

TEST(FolderLock, LetsOneInAtATimeAndNamesIt) {
  const TemporaryFolder folder;
  const std::string run = folder / "runs/new";
  std::optional<FolderLock> first(std::in_place, run, 0);
  EXPECT_EQ(error_of([&] { FolderLock(run, 0); }).find(fmt::format("{}: process {} on ", run, getpid())), 0u);
  EXPECT_NO_THROW(FolderLock(folder / "another", 0));
  first.reset();
  EXPECT_NO_THROW(FolderLock(run, 0));
}

TEST(FolderLock, IsFreeOnceItsProcessWasKilled) {
  const TemporaryFolder folder;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder.path(), 0);
    char ready = 1;
    if (write(pipe_ends[1], &ready, 1) == 1) pause();
    _exit(0);
  }
  char ready = 0;
  ASSERT_EQ(read(pipe_ends[0], &ready, 1), 1);
  EXPECT_THROW(FolderLock(folder.path(), 0), Error);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_NO_THROW(FolderLock(folder.path(), 0));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(FolderLock, WaitsForOneThatIsEnding) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    {
      const FolderLock lock(folder.path(), 5);
      usleep(300'000);
    }
    _exit(0);
  }
  usleep(100'000);
  EXPECT_NO_THROW(FolderLock(folder.path(), 10));
  waitpid(child, nullptr, 0);
}

}  // namespace mylos::folder_lock_test

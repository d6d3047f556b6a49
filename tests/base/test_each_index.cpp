// Independent calls on threads, and none but the calling thread where there is work for one.
#include "mylos/base/device/each_index.hpp"
#include "mylos/base/device/parallel_region.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <vector>

namespace mylos::each_index_test {

/// Returns the levels of parallel regions in which the calls were made; -1: a call was not made, 100 and
/// more: it was made several times.
std::vector<int> levels_of(const Execution& exec, std::int64_t count) {
  std::vector<int> levels(static_cast<std::size_t>(count), -1);
  int* const all = levels.data();
  for_each_index(exec, "levels", count,
                 [all](std::int64_t i) { all[i] = all[i] == -1 ? omp_get_level() : all[i] + 100; });
  return levels;
}

TEST(EachIndex, OneThreadsWorkEntersNoParallelRegion) {
  if (!runs_on_host) GTEST_SKIP() << "kernels run in the form of devices";
  EXPECT_EQ(levels_of(single_thread_instance(), 1000), std::vector<int>(1000, 0));
  EXPECT_EQ(levels_of(Execution(), 1), std::vector<int>(1, 0));
  EXPECT_TRUE(levels_of(Execution(), 0).empty());
}

TEST(EachIndex, EveryCallIsMadeOnceByAnyNumberOfThreads) {
  const Execution all;
  for (const std::int64_t count : {1, 2, 3, 7, 64, 1001}) {
    const bool is_alone = runs_on_host && (all.concurrency() == 1 || count == 1);
    for (const int level : levels_of(all, count)) EXPECT_EQ(level, is_alone ? 0 : 1) << count;
  }
}

}  // namespace mylos::each_index_test

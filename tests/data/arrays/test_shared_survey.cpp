// The pass over all values of arrays, which the ranks share.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>

#include "data/arrays/array_builders.hpp"

namespace mylos {
namespace {

using namespace testing_support;

constexpr int files = 5;

ArrayOptions series() {
  ArrayOptions options = one_array("/u", {"time", "x"});
  options.targets_are = TargetsAre::difference;
  return options;
}

/// Writes the files of this rank, and NaN instead of numbers where `is_bad(file)`.
template <class IsBad>
void write_series(const TemporaryFolder& folder, const IsBad& is_bad) {
  for (int file = 0; file < files; ++file) {
    write_arrays(folder / fmt::format("{}.h5", file),
                 fmt::format("f['u'] = n.cos(n.arange(35.0).reshape(7, 5) + {}){}", file,
                             is_bad(file) ? " * n.nan" : ""));
  }
}

TEST(SharedSurvey, GivesWhatOneRankFinds) {
  RankGroup ranks{MPI_COMM_WORLD, 60};
  const TemporaryFolder folder;
  write_series(folder, [](int) { return false; });
  const auto alone = open_array_store({folder / "?.h5"}, series());
  const auto shared = open_array_store({folder / "?.h5"}, series());
  shared->survey_over(ranks);
  EXPECT_EQ(shared->identity(), alone->identity());
  const Split all{0, shared->samples()};
  for (const auto statistics : {&ArrayStore::input_statistics, &ArrayStore::target_statistics}) {
    const ColumnStatistics of_all = ((*shared).*statistics)(all);
    const ColumnStatistics of_one = ((*alone).*statistics)(all);
    EXPECT_EQ(of_all.mean, of_one.mean);
    EXPECT_EQ(of_all.deviation, of_one.deviation);
    EXPECT_EQ(of_all.minimum, of_one.minimum);
    EXPECT_EQ(of_all.maximum, of_one.maximum);
  }
}

TEST(SharedSurvey, ReadsEachFileOnOneRank) {
  RankGroup ranks{MPI_COMM_WORLD, 60};
  const TemporaryFolder folder;
  write_series(folder, [&](int file) { return file % ranks.size() != ranks.rank(); });
  const auto store = open_array_store({folder / "?.h5"}, series());
  store->survey_over(ranks);
  EXPECT_LE(store->input_statistics({0, store->samples()}).maximum.front(), 1);
}

TEST(SharedSurvey, IsWaitedForAsLongAsARankReads) {
  constexpr double timeout_s = 1.5;
  RankGroup ranks{MPI_COMM_WORLD, timeout_s};
  if (ranks.size() != 2) GTEST_SKIP() << "one reads, one waits";
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, std::int64_t levels) {
    return write_arrays(folder / name, fmt::format("f['u'] = n.zeros(({}, 1), 'f4')", levels));
  };
  using Clock = std::chrono::steady_clock;
  const auto seconds_of = [](const auto& run) {
    const auto begin = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  constexpr std::int64_t some = 200'000;
  const auto store = open_array_store({write("some.h5", some)}, series());
  // All ranks read the same, so that they begin together, and the first has the longest file.
  double each = seconds_of([&] { static_cast<void>(store->identity()); }) / some;
  MPI_Allreduce(MPI_IN_PLACE, &each, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  const auto many = static_cast<std::int64_t>(2 * timeout_s / each);
  write("0.h5", many);
  write("1.h5", 2);
  const auto shared = open_array_store({folder / "?.h5"}, series());
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_GT(seconds_of([&] { shared->survey_over(ranks); }), timeout_s);
}

TEST(SharedSurvey, FailsOnAllRanksIfOneFindsNoNumber) {
  RankGroup ranks{MPI_COMM_WORLD, 60};
  const TemporaryFolder folder;
  write_series(folder, [](int file) { return file == 3; });
  const auto store = open_array_store({folder / "?.h5"}, series());
  EXPECT_THROW(store->survey_over(ranks), Error);
}

}  // namespace
}  // namespace mylos

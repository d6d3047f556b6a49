#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "data/arrays/array_builders.hpp"

namespace mylos {
namespace {

using namespace testing_support;

/// Two files of ramps: u is time + 10 * file + {-1, -0.5, 0, 0.5, 1} at the five points, c is 3.
void write_ramps(const TemporaryFolder& folder, const std::string& extra = "") {
  for (int file = 0; file < 2; ++file) {
    std::filesystem::create_directories(folder.path() + "/runs");
    write_arrays(folder / fmt::format("runs/run{}.h5", file),
                 fmt::format("u = n.arange(6.0)[:, None] + n.linspace(-1, 1, 5) + {}\n{}\nf['u'] = u; f['c'] "
                             "= n.full((6, 5), 3.0)",
                             10 * file, file == 1 ? extra : ""));
  }
}

ArrayOptions ramps() {
  ArrayOptions options = one_array("/u", {"time", "x"});
  options.inputs = {"/u", "/c"};
  return options;
}

TEST(ArrayStatistics, AreThoseOfTheLevelsThatWindowsTouch) {
  const TemporaryFolder folder;
  write_ramps(folder);
  ArrayOptions options = ramps();
  options.history = 2;
  const auto store = open_array_store({folder / "runs/*"}, options);
  ASSERT_EQ(store->samples(), 8);
  const ColumnStatistics all = store->input_statistics({0, 8});
  ASSERT_EQ(all.mean.size(), 4u);
  EXPECT_EQ(all.mean, (std::vector<double>{7.5, 3, 7.5, 3}));
  EXPECT_DOUBLE_EQ(all.deviation[0],
                   std::sqrt(35.0 / 12 + 25 + 0.5));  // of 0 ... 5, 10 ... 15 and the points
  EXPECT_EQ(all.deviation[1], 0);
  EXPECT_EQ(all.minimum[2], -1);
  EXPECT_EQ(all.maximum[2], 16);
  // The first five windows touch all levels of the first file, and 10, 11, 12 of the second.
  const ColumnStatistics part = store->input_statistics({0, 5});
  EXPECT_NEAR(part.mean[0], (15.0 + 33.0) / 9, 1e-14);
  EXPECT_EQ(part.maximum[0], 13);
  const ColumnStatistics again = store->input_statistics({0, 5});
  EXPECT_EQ(again.mean, part.mean);
  EXPECT_EQ(again.deviation, part.deviation);
}

/// The mean of t^2, or of the differences 2 t + 1, over t in [0, end).
double mean_of_squares(int end) {
  double sum = 0;
  for (int t = 0; t < end; ++t) sum += t * t;
  return sum / end;
}
double mean_of_differences(int end) {
  return end;
}

TEST(ArrayStatistics, OfRolloutsAreThoseOfAllTheirSteps) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = n.arange(6.0)[:, None] ** 2 + n.linspace(-1, 1, 5)");
  ArrayOptions options = one_array("/u", {"time", "x"});
  options.targets_are = TargetsAre::difference;
  options.every = 4;
  options.statistics = folder / "statistics.txt";  // has an entry for each number of steps
  struct Case {
    std::int64_t steps, windows;
    int levels;  // that the windows touch
  };
  for (const Case& of : {Case{1, 2, 6}, {3, 1, 4}, {1, 2, 6}}) {
    const auto store = open_array_store({folder / "a.h5"}, options, of.steps);
    ASSERT_EQ(store->samples(), of.windows);
    EXPECT_NEAR(store->input_statistics({0, of.windows}).mean[0], mean_of_squares(of.levels), 1e-12);
    EXPECT_NEAR(store->target_statistics({0, of.windows}).mean[0], mean_of_differences(of.levels - 1), 1e-12);
  }
  EXPECT_NEAR(open_array_store({folder / "a.h5"}, options)->target_statistics({0, 1}).mean[0], 1, 1e-12);
}

TEST(ArrayStatistics, OfPointsAreThoseOfAllWindowsThatTheyTouch) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = n.arange(40.0).reshape(4, 2, 5)");
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.points_are_samples = true;
  options.ahead = 0;
  const auto store = open_array_store({folder / "a.h5"}, options);
  EXPECT_DOUBLE_EQ(store->input_statistics({0, 7}).mean[0], 4.5);
  EXPECT_EQ(store->input_statistics({0, 7}).maximum[0], 9);
  EXPECT_DOUBLE_EQ(store->input_statistics({7, 4}).mean[0], 9.5);
  EXPECT_EQ(store->input_statistics({10, 11}).minimum[0], 10);
  EXPECT_EQ(store->input_statistics({10, 11}).maximum[0], 29);
}

TEST(ArrayStatistics, IdentityIsThatOfTheContents) {
  const TemporaryFolder folder;
  write_ramps(folder);
  const auto identity = [&](const std::string& pattern) {
    return open_array_store({pattern}, ramps())->identity();
  };
  const std::string first = identity(folder / "runs/*");
  std::filesystem::rename(folder / "runs", folder / "moved");
  EXPECT_EQ(identity(folder / "moved/*"), first);
  write_ramps(folder, "u[3, 2] += 1e-3");
  EXPECT_NE(identity(folder / "runs/*"), first);
  write_ramps(folder, "f.attrs['other'] = 1");  // not of the arrays
  EXPECT_EQ(identity(folder / "runs/*"), first);
  std::filesystem::rename(folder / "runs/run1.h5", folder / "runs/run2.h5");
  EXPECT_NE(identity(folder / "runs/*"), first);
}

TEST(ArrayStatistics, AreKeptInAFileWhereAskedFor) {
  const TemporaryFolder folder;
  write_ramps(folder);
  ArrayOptions options = ramps();
  const ColumnStatistics computed = open_array_store({folder / "runs/*"}, options)->input_statistics({0, 10});
  const std::string identity = open_array_store({folder / "runs/*"}, options)->identity();
  options.statistics = folder / "statistics.txt";
  static_cast<void>(open_array_store({folder / "runs/*"}, options)->identity());
  ASSERT_TRUE(std::filesystem::exists(options.statistics));
  const std::string text = read_file(options.statistics);
  const auto store = open_array_store({folder / "runs/*"}, options);
  EXPECT_EQ(store->input_statistics({0, 10}).mean, computed.mean);
  EXPECT_EQ(store->input_statistics({0, 10}).deviation, computed.deviation);
  EXPECT_EQ(store->identity(), identity);
  EXPECT_EQ(read_file(options.statistics), text);
  // Changed files are read again.
  write_ramps(folder, "u += 1");
  EXPECT_NE(open_array_store({folder / "runs/*"}, options)->identity(), identity);
  std::string damaged = text;
  damaged[damaged.size() - 2] ^= 1;
  write_file(options.statistics, damaged);
  EXPECT_NE(error_of([&] {
              (void)open_array_store({folder / "runs/*"}, options)->identity();
            }).find("statistics.txt"),
            std::string::npos);
}

TEST(ArrayStatistics, ThatAreKeptAreOfTheAxesThatTheDeckGives) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = code(3, 4); f['v'] = code(3, 4, 4)");
  ArrayOptions options = one_array("/u", {"time", "x"});
  options.targets = {"/v"};
  options.statistics = folder / "statistics.txt";
  for (const auto& axes : {std::vector<std::string>{"time", "channel", "x"}, {"time", "x", "channel"}}) {
    options.axes_of = {{"/v", axes}};
    const auto store = open_array_store({folder / "a.h5"}, options);
    const bool is_last = axes.back() == "channel";  // which then is the last digit of v
    EXPECT_EQ(store->target_statistics({0, 2}).minimum[1], is_last ? 1 : 100);
  }
}

TEST(ArrayStatistics, ThatAreKeptAreTheLastEight) {
  const TemporaryFolder folder;
  write_ramps(folder);
  ArrayOptions options = ramps();
  options.statistics = folder / "statistics.txt";
  std::vector<std::string> kept;
  for (std::int64_t first = 0; first < 9; ++first) {
    options.slice = {{"time", first % 3}, {"x", first / 3}};
    static_cast<void>(open_array_store({folder / "runs/*"}, options)->identity());
    std::istringstream lines(read_file(options.statistics));
    kept.clear();
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("entry ")) kept.push_back(line);
    EXPECT_EQ(kept.size(), std::min<std::size_t>(8, static_cast<std::size_t>(first) + 1));
  }
  // The oldest is the one that is missing: it is added again, and nothing but the next is dropped for it.
  options.slice = {{"time", 0}, {"x", 0}};
  static_cast<void>(open_array_store({folder / "runs/*"}, options)->identity());
  const std::string text = read_file(options.statistics);
  EXPECT_EQ(text.find(kept.front()), std::string::npos);
  for (std::size_t i = 1; i < kept.size(); ++i) EXPECT_NE(text.find(kept[i]), std::string::npos) << i;
}

}  // namespace
}  // namespace mylos

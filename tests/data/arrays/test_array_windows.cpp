#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "data/arrays/array_builders.hpp"

namespace mylos {
namespace {

using namespace testing_support;

TEST(ArrayWindows, JoinHistoryChannelsAndConstants) {
  const TemporaryFolder folder;
  const char* lines = "f['u'] = code(9, 2, 3); f['v'] = -code(9, 2, 3); f['mask'] = code(2, 3)";
  write_arrays(folder / "a.h5", lines);
  write_arrays(folder / "b.h5",
               "f['u'] = code(7, 2, 3) + 0.5; f['v'] = code(7, 2, 3); f['mask'] = n.ones((2, 3))");
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.inputs = {"/u", "/v"};
  options.constants = {"/mask"};
  options.history = 2;
  options.ahead = 3;
  options.every = 2;
  const auto store = open_array_store({folder / "?.h5"}, options);
  // Windows have 5 levels: they begin at 0, 2, 4 in the first file, at 0, 2 in the second.
  ASSERT_EQ(store->samples(), 5);
  EXPECT_EQ(store->grid(), (std::vector<std::int64_t>{2, 3, 5}));
  EXPECT_EQ(store->input_names(), (std::vector<std::string>{"u(t-1)", "v(t-1)", "u(t)", "v(t)", "mask"}));
  EXPECT_EQ(store->target_names(), (std::vector<std::string>{"u"}));
  for (const auto& [sample, file, begin] : {std::array{1, 0, 2}, {2, 0, 4}, {4, 1, 2}}) {
    const auto inputs = inputs_of(*store, sample);
    const auto targets = targets_of(*store, sample);
    const float shift = file == 1 ? 0.5f : 0.0f;
    const float sign = file == 1 ? 1.0f : -1.0f;
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        const auto point = static_cast<std::size_t>(y * 3 + x);
        const float* channels = inputs.data() + point * 5;
        EXPECT_EQ(channels[0], coded(begin, y, x) + shift);
        EXPECT_EQ(channels[1], sign * coded(begin, y, x));
        EXPECT_EQ(channels[2], coded(begin + 1, y, x) + shift);
        EXPECT_EQ(channels[3], sign * coded(begin + 1, y, x));
        EXPECT_EQ(channels[4], file == 1 ? 1.0f : static_cast<float>(100 * y + x));
        EXPECT_EQ(targets[point], coded(begin + 4, y, x) + shift);
      }
    }
    const WindowLocation location = store->location_of(sample);
    EXPECT_EQ(location.file, file);
    EXPECT_EQ(location.newest, begin + 1);
  }
}

TEST(ArrayWindows, AxesOfAnyOrderAndSlices) {
  const TemporaryFolder folder;
  // The file's order is x, channel, time, y.
  write_arrays(folder / "a.h5",
               "a = code(12, 5, 6)\n"
               "f['u'] = n.stack([a, a + 0.5], -1).transpose(2, 3, 0, 1)");
  ArrayOptions options = one_array("/u", {"x", "channel", "time", "y"});
  options.slice = {{"time", 2, std::nullopt, 3}, {"y", std::nullopt, std::nullopt, 2}, {"x", -4, -1}};
  const auto store = open_array_store({folder / "a.h5"}, options);
  ASSERT_EQ(store->samples(), 3);  // of levels 2, 5, 8, 11
  EXPECT_EQ(store->grid(), (std::vector<std::int64_t>{3, 3, 2}));
  const auto targets = targets_of(*store, 1);
  for (int x = 0; x < 3; ++x) {
    for (int y = 0; y < 3; ++y) {
      for (int c = 0; c < 2; ++c) {
        EXPECT_EQ(targets[static_cast<std::size_t>((x * 3 + y) * 2 + c)],
                  coded(8, 2 * y, x + 2) + 0.5f * static_cast<float>(c));
      }
    }
  }
  EXPECT_NE(store->location_of_target(1, 3).find("/u[2, 1, 8, 2]"), std::string::npos)
      << store->location_of_target(1, 3);
}

TEST(ArrayWindows, NeverCrossATrajectory) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5",
               "f.create_dataset('u', data=code(3, 4, 2), chunks=(2, 3, 1), compression='gzip', "
               "shuffle=True, fletcher32=True, maxshape=(None, None, 2))");
  const auto store = open_array_store({folder / "a.h5"}, one_array("u", {"sample", "time", "x"}));
  ASSERT_EQ(store->samples(), 9);
  const auto inputs = inputs_of(*store, 0, 9);
  const auto targets = targets_of(*store, 0, 9);
  for (int sample = 0; sample < 9; ++sample) {
    const auto i = static_cast<std::size_t>(2 * sample);
    EXPECT_EQ(inputs[i], coded(sample / 3, sample % 3, 0));
    EXPECT_EQ(targets[i + 1], coded(sample / 3, sample % 3 + 1, 1));
  }
}

TEST(ArrayWindows, RolloutsHaveForcingsAndTargetsOfEachStep) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = code(10, 1, 2); f['q'] = code(10, 1, 2) + 0.5");
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.inputs = {"/q", "/u"};
  options.history = 2;
  options.targets_are = TargetsAre::difference;
  const auto store = open_array_store({folder / "a.h5"}, options, 3);
  const RolloutLayout& layout = store->rollout();
  EXPECT_EQ(layout.state, (std::vector<std::int64_t>{1}));
  EXPECT_EQ(layout.forcing, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(layout.sample_inputs(), 6);
  EXPECT_EQ(layout.sample_targets(), 3);
  EXPECT_EQ(layout.points, 2);
  ASSERT_EQ(store->samples(), 6);
  const auto inputs = inputs_of(*store, 4);
  EXPECT_EQ(inputs[6 + 4], coded(6, 0, 1) + 0.5f);  // the newest level of step 1 is 5
  EXPECT_EQ(inputs[6 + 5], coded(7, 0, 1) + 0.5f);
  EXPECT_EQ(targets_of(*store, 4), (std::vector<float>(6, 10000.0f)));
  options.targets = {"/u", "/w"};
  write_arrays(folder / "b.h5", "f['u'] = code(10, 1, 2); f['q'] = code(10, 1, 2); f['w'] = code(10, 1, 2)");
  options.targets_are = TargetsAre::state;
  EXPECT_EQ(open_array_store({folder / "b.h5"}, options, 2)->rollout().state.back(), -1);  // a diagnostic
  options.targets = {"/w"};
  EXPECT_NE(error_of([&] { (void)open_array_store({folder / "b.h5"}, options, 2); }).find("/w"),
            std::string::npos);
}

TEST(ArrayWindows, DifferencesOfDoublesAreRoundedOnce) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['p'] = 101325.0 + 1e-4 * n.arange(5.0)[:, None] * n.ones((5, 2))");
  ArrayOptions options = one_array("/p", {"time", "x"});
  options.targets_are = TargetsAre::difference;
  const auto store = open_array_store({folder / "a.h5"}, options);
  const double expected = (101325.0 + 1e-4 * 3.0) - (101325.0 + 1e-4 * 2.0);
  EXPECT_EQ(targets_of(*store, 2), (std::vector<float>(2, static_cast<float>(expected))));
  EXPECT_NEAR(store->target_statistics({0, 4}).mean[0], 1e-4, 1e-10);
}

TEST(ArrayWindows, SomeTargetsAreDifferencesAndTheOthersStates) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5",
               "f['p'] = n.arange(5.0)[:, None] ** 2 + n.zeros((5, 2))\n"
               "f['q'] = n.arange(5.0)[:, None] + 10 * n.ones((5, 2))");
  ArrayOptions options = one_array("/p", {"time", "x"});
  options.inputs = {"/q", "/p"};
  options.targets = {"/q", "/p"};
  options.differences = {"/p"};
  const auto store = open_array_store({folder / "a.h5"}, options, 2);
  EXPECT_EQ(store->rollout().state, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(store->rollout().adds_newest, (std::vector<std::uint8_t>{0, 1}));
  // q and p of level 2 + 1, then of level 2 + 2, at both points.
  EXPECT_EQ(targets_of(*store, 2), (std::vector<float>{13, 5, 14, 7, 13, 5, 14, 7}));
  const ColumnStatistics of = store->target_statistics({0, store->samples()});
  EXPECT_NEAR(of.mean[0], 12, 1e-12);  // of all levels
  EXPECT_NEAR(of.mean[1], 4, 1e-12);   // of all differences
}

TEST(ArrayWindows, DifferencesAreRoundedOnceInFilesThatPackNumbersTheirOwnWay) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['p'] = n.array([[116], [200]], 'i2')");
  write_arrays(folder / "b.h5",
               "f['p'] = n.array([[116], [200]], 'i2'); f['p'].attrs['scale_factor'] = 0.37\n"
               "f['p'].attrs['add_offset'] = -100.0");
  ArrayOptions options = one_array("/p", {"time", "x"});
  options.targets_are = TargetsAre::difference;
  const auto store = open_array_store({folder / "?.h5"}, options);
  const double expected = (200 * 0.37 - 100.0) - (116 * 0.37 - 100.0);
  const float rounded_twice = static_cast<float>(200 * 0.37 - 100.0) - static_cast<float>(116 * 0.37 - 100.0);
  ASSERT_NE(static_cast<float>(expected), rounded_twice);
  EXPECT_EQ(targets_of(*store, 0, 2), (std::vector<float>{84, static_cast<float>(expected)}));
}

TEST(ArrayWindows, PointsOrRowsAreSamplesOfMlps) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5",
               "f['u'] = code(4, 2, 3); f['tau'] = -code(4, 2, 3)\n"
               "f['rows'] = n.arange(20.0).reshape(10, 2); f['y'] = n.arange(10)");
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.targets = {"/tau"};
  options.points_are_samples = true;
  options.ahead = 0;
  const auto closure = open_array_store({folder / "a.h5"}, options);
  ASSERT_EQ(closure->samples(), 24);
  EXPECT_EQ(closure->features(), 1);
  EXPECT_TRUE(closure->grid().empty());
  const auto inputs = inputs_of(*closure, 4, 10);
  const auto targets = targets_of(*closure, 4, 10);
  for (int i = 0; i < 10; ++i) {
    const int sample = 4 + i;
    EXPECT_EQ(inputs[static_cast<std::size_t>(i)], coded(sample / 6, sample / 3 % 2, sample % 3));
    EXPECT_EQ(targets[static_cast<std::size_t>(i)], -inputs[static_cast<std::size_t>(i)]);
  }
  ArrayOptions rows = one_array("/rows", {"sample", "channel"});
  rows.targets = {"/y"};
  rows.axes_of = {{"/y", {"sample"}}};
  const auto table = open_array_store({folder / "a.h5"}, rows);
  EXPECT_EQ(table->samples(), 10);
  EXPECT_EQ(inputs_of(*table, 3, 2), (std::vector<float>{6, 7, 8, 9}));
  EXPECT_EQ(targets_of(*table, 3, 2), (std::vector<float>{3, 4}));
}

TEST(ArrayWindows, OfLargeGridsHaveEveryPoint) {
  const TemporaryFolder folder;
  write_arrays(folder / "a.h5", "f['u'] = code(2, 33, 33); f['v'] = -code(2, 33, 33)");
  ArrayOptions options = one_array("/u", {"time", "y", "x"});
  options.inputs = {"/u", "/v"};
  const auto store = open_array_store({folder / "a.h5"}, options);
  const auto inputs = inputs_of(*store, 0);
  const auto targets = targets_of(*store, 0);
  for (int y = 0; y < 33; ++y) {
    for (int x = 0; x < 33; ++x) {
      const auto point = static_cast<std::size_t>(y * 33 + x);
      ASSERT_EQ(inputs[2 * point], coded(0, y, x));
      ASSERT_EQ(inputs[2 * point + 1], -coded(0, y, x));
      ASSERT_EQ(targets[point], coded(1, y, x));
    }
  }
}

TEST(ArrayWindows, StateTheMemoryOfOpenFiles) {
  const TemporaryFolder folder;
  const auto bytes = [&](const std::string& pattern) {
    return open_array_store({pattern}, one_array("/u", {"time", "x"}))->reading_bytes();
  };
  write_arrays(folder / "a0.h5", "f['u'] = code(4, 5)");
  const std::int64_t of_one = bytes(folder / "a*.h5");
  write_arrays(folder / "a1.h5", "f['u'] = code(4, 5)");
  const std::int64_t structures = bytes(folder / "a*.h5") - of_one;  // of HDF5, half a MiB, and the tables
  EXPECT_GE(structures, std::int64_t{512} << 10);
  EXPECT_LE(structures, std::int64_t{513} << 10);
  write_arrays(folder / "c0.h5", "f.create_dataset('u', data=code(4, 5), chunks=(1, 5))");
  EXPECT_GE(bytes(folder / "c0.h5") - of_one, std::int64_t{1} << 20);  // HDF5's cache of chunks
}

TEST(ArrayWindows, CacheReadsEachLevelOnceWhateverTheOrder) {
  const TemporaryFolder folder;
  // Levels of 512 KiB: the cache holds a few of them.
  write_arrays(folder / "a.h5",
               "f['u'] = n.arange(64.0, dtype='f4')[:, None, None] + n.zeros((64, 256, 512), 'f4')");
  const auto store = open_array_store({folder / "a.h5"}, one_array("/u", {"time", "y", "x"}));
  for (const std::int64_t sample : {0, 62, 31, 0, 1, 2, 62, 17}) {
    EXPECT_EQ(inputs_of(*store, sample).back(), static_cast<float>(sample));
    EXPECT_EQ(targets_of(*store, sample).front(), static_cast<float>(sample + 1));
  }
  EXPECT_LT(store->reading_bytes(), std::int64_t{32} << 20);
}

TEST(ArrayWindows, TargetsOfABlockComeFromTheLevelsOfItsInputs) {
  const TemporaryFolder folder;
  for (const char* chunks : {"", ", chunks=(6, 64, 64)"}) {
    const std::string path = write_arrays(
        folder / "a.h5", fmt::format("f.create_dataset('u', data=n.zeros((400, 64, 64), 'f4'){})", chunks));
    const auto store = open_array_store({path}, one_array("/u", {"time", "y", "x"}));
    const std::int64_t block = store->block_samples();
    ASSERT_GT(block, 20);
    ASSERT_LT(4 * block, store->samples());
    inputs_of(*store, 2 * block, block);
    // From now on a level that the cache does not hold is refused.
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(2));
    EXPECT_NO_THROW(targets_of(*store, 2 * block, block - 1)) << chunks;
    EXPECT_THROW(targets_of(*store, 0), Error) << chunks;
  }
}

}  // namespace
}  // namespace mylos

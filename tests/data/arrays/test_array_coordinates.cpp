// Coordinates of arrays in files: those of the grid and of time.
#include <gtest/gtest.h>

#include "data/arrays/array_builders.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/files/meaning/sample_meaning.hpp"
#include "support/said.hpp"

namespace mylos::array_coordinates_test {

using namespace testing_support;
using test::cause_of;

/// Two arrays [time, lat] of 6 levels with scales; `more` changes what they hold.
std::string write(const std::string& path, const std::string& time, const std::string& lat,
                  const std::string& more = "") {
  return write_arrays(path,
                      "f['u'] = code(6, 4); f['v'] = code(6, 4)\n"
                      "f['time'] = n.array(" +
                          time + ", float); f['lat'] = n.array(" + lat +
                          ", float)\n"
                          "f['time'].attrs['units'] = 'hours since 2000-01-01'\n"
                          "f['lat'].attrs['units'] = 'degrees_north'\n"
                          "for s in 'time', 'lat': f[s].make_scale(s)\n"
                          "for a in 'u', 'v':\n"
                          "  for i, s in enumerate(['time', 'lat']): f[a].dims[i].attach_scale(f[s])\n" +
                          more);
}

constexpr const char* hours = "[0, 6, 12, 18, 24, 30]";
constexpr const char* north = "[-30, -10, 10, 30]";

ArrayOptions both() {
  ArrayOptions options = one_array("/u", {"time", "lat"});
  options.inputs = {"/u", "/v"};
  return options;
}

std::string refusal(const std::vector<std::string>& files, const ArrayOptions& options = both()) {
  return cause_of([&] { static_cast<void>(open_array_store(files, options)); });
}

TEST(ArrayCoordinates, AreThoseOfTheFilesAfterSlicing) {
  const TemporaryFolder folder;
  ArrayOptions options = both();
  options.slice = {{"lat", 1, std::nullopt, 2}, {"time", 1, std::nullopt, 2}};
  const auto store = open_array_store({write(folder / "a.h5", hours, north)}, options);
  const GridAxes expected{{"lat", "degrees_north", {-10, 30}}, {"lat", "", {}, "/u"}, {"lat", "", {}, "/v"}};
  EXPECT_EQ(store->axes(), expected);
  EXPECT_EQ(store->level_step(), (LevelStep{12, "hours", "standard (Gregorian)"}));
}

TEST(ArrayCoordinates, DifferBetweenFilesOnlyIfIgnored) {
  const TemporaryFolder folder;
  const std::string a = write(folder / "a.h5", hours, north);
  const std::string b = write(folder / "b.h5", hours, "[30, 10, -10, -30]");
  EXPECT_EQ(refusal({a, b}), name_of(errors::data_mismatch));
  ArrayOptions options = both();
  options.coordinates = FileCoordinates::ignore;
  EXPECT_EQ(refusal({a, b}, options), "");
  EXPECT_TRUE(open_array_store({a}, options)->axes().empty());
  options = both();
  options.points_are_samples = true;
  EXPECT_EQ(refusal({a, b}, options), "") << "points do not know where they are";
}

TEST(ArrayCoordinates, OfArraysOfAFileMayBeStaggeredButNotReversed) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& values) {
    return write(folder / "a.h5", hours, north,
                 "f['lat_v'] = n.array(" + values +
                     ", float); f['lat_v'].make_scale('lat_v')\n"
                     "f['v'].dims[1].detach_scale(f['lat']); f['v'].dims[1].attach_scale(f['lat_v'])\n");
  };
  EXPECT_EQ(refusal({with("[-20, 0, 20, 40]")}), "");
  EXPECT_EQ(refusal({with("[30, 10, -10, -30]")}), name_of(errors::data_mismatch));
  EXPECT_EQ(refusal({with("[40, 20, 0, -20]")}), name_of(errors::data_mismatch)) << "staggered and reversed";
}

TEST(ArrayCoordinates, OfStaggeredArraysAndChannelsAreComparedByArray) {
  const TemporaryFolder folder;
  // The second axis of v has its own coordinates: of a staggered grid, or of channels.
  const auto with = [&](const std::string& name, const std::string& values) {
    return write(folder / name, hours, north,
                 "f['own'] = n.array(" + values +
                     ", float); f['own'].make_scale('own')\n"
                     "f['v'].dims[1].detach_scale(f['lat']); f['v'].dims[1].attach_scale(f['own'])\n");
  };
  ArrayOptions channels = both();
  channels.axes_of = {{"/v", {"time", "channel"}}};
  channels.targets = {"/u"};
  const std::string a = with("a.h5", "[1, 2, 3, 5]");
  for (const ArrayOptions& options : {both(), channels}) {
    EXPECT_EQ(refusal({a, with("b.h5", "[1, 2, 3, 5]")}, options), "");
    EXPECT_EQ(refusal({a, with("b.h5", "[1, 2, 4, 5]")}, options), name_of(errors::data_mismatch));
    EXPECT_EQ(refusal({a, with("b.h5", "[5, 3, 2, 1]")}, options), name_of(errors::data_mismatch));
  }
  EXPECT_EQ(refusal({a, write(folder / "b.h5", hours, north)}), name_of(errors::data_mismatch));
  EXPECT_EQ(refusal({write(folder / "b.h5", hours, north), a}), name_of(errors::data_mismatch));
}

TEST(ArrayCoordinates, HaveTheNamesOfTheirAxes) {
  const TemporaryFolder folder;
  const std::string named =
      "for a in 'u', 'v':\n  f[a].dims[0].detach_scale(f['time'])\n"
      "  f[a].dims[1].detach_scale(f['lat'])\n"
      "for i, s in enumerate(['lat', 'time']):\n"
      "  f['d/' + s] = n.full([6, 4][i], n.nan); f['d/' + s].make_scale(s)\n"
      "  for a in 'u', 'v': f[a].dims[i].attach_scale(f['d/' + s])\n";
  const std::string file = write(folder / "a.h5", hours, north, named);
  EXPECT_EQ(refusal({file}), name_of(errors::data_mismatch)) << "lat is time, and time is lat";
  ArrayOptions options = both();
  options.coordinates = FileCoordinates::ignore;
  EXPECT_EQ(refusal({file}, options), "");
}

TEST(ArrayCoordinates, OfTimeAreTheSameForAllArrays) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& values) {
    return write(
        folder / "a.h5", hours, north,
        "f['own'] = n.array(" + values +
            ", float); f['own'].attrs['units'] = 'hours since 2000-01-01'; f['own'].make_scale('own')\n"
            "f['v'].dims[0].detach_scale(f['time']); f['v'].dims[0].attach_scale(f['own'])\n");
  };
  EXPECT_EQ(refusal({with("[0, 6, 12, 18, 24, 30]")}), "");
  for (const char* times : {"[6, 12, 18, 24, 30, 36]", "[3, 9, 15, 21, 27, 33]", "[0, 1, 2, 3, 4, 5]",
                            "[30, 24, 18, 12, 6, 0]", "[0, 6, 12, 24, 30, 36]"})
    EXPECT_EQ(refusal({with(times)}), name_of(errors::data_mismatch)) << times;
}

TEST(ArrayCoordinates, OfTimeHaveNoGapsUnlessIgnored) {
  const TemporaryFolder folder;
  for (const char* times : {"[0, 6, 12, 24, 30, 36]", "[0, 6, 12, 12, 18, 24]", "[30, 24, 18, 12, 6, 0]",
                            "[0, 6, 18, 12, 24, 30]", "[0, 6, 12, float('nan'), 24, 30]"}) {
    const std::string file = write(folder / "a.h5", times, north);
    EXPECT_EQ(refusal({file}), name_of(errors::data_mismatch)) << times;
    ArrayOptions options = both();
    options.gaps = TimeGaps::ignore;
    EXPECT_EQ(refusal({file}, options), "") << times;
  }
  const std::string months = write(folder / "months.h5", "[15, 45, 74, 105, 135, 166]", north);
  EXPECT_EQ(refusal({months}), "");
}

TEST(ArrayCoordinates, OfTimeBreakWindowsWhereTheyHaveGaps) {
  const TemporaryFolder folder;
  // Levels 0 to 2, 3 and 4 to 5 follow each other: windows of an input and a target begin at 0, 1 and 4.
  const std::string file = write(folder / "a.h5", "[0, 6, 12, 24, 12, 18]", north);
  ArrayOptions options = both();
  options.gaps = TimeGaps::split;
  const auto store = open_array_store({file, write(folder / "b.h5", hours, north)}, options);
  ASSERT_EQ(store->samples(), 3 + 5);
  const std::int64_t newest[] = {0, 1, 4, 0, 1};
  for (std::int64_t sample = 0; sample < 5; ++sample) {
    const std::int64_t level = newest[sample];
    EXPECT_EQ(store->location_of(sample).newest, level) << sample;
    EXPECT_EQ(inputs_of(*store, sample)[2], static_cast<float>(100 * level + 1)) << sample;
    EXPECT_EQ(targets_of(*store, sample)[1], static_cast<float>(100 * (level + 1) + 1)) << sample;
  }
  // Level 3 is in no window: the values of u are those of five levels.
  const auto first = open_array_store({file}, options);
  const ColumnStatistics statistics = first->target_statistics({0, 3});
  double sum = 0;
  for (const int level : {0, 1, 2, 4, 5})
    for (int point = 0; point < 4; ++point) sum += 100 * level + point;
  EXPECT_NEAR(statistics.mean[0], sum / 20, 1e-9);
  EXPECT_NEAR(first->target_statistics({2, 1}).mean[0], 450 + 1.5, 1e-9) << "of the last window alone";
  EXPECT_EQ(first->target_statistics({0, 2}).maximum[0], 203);
  options.history = 3;
  EXPECT_EQ(refusal({file}, options), name_of(errors::too_little_data)) << "windows of four levels";
}

TEST(ArrayCoordinates, OfTimeHaveTheSameStepInAllFiles) {
  const TemporaryFolder folder;
  const std::string a = write(folder / "a.h5", hours, north);
  const std::string later = write(folder / "later.h5", "[100, 106, 112, 118, 124, 130]", north);
  const std::string hourly = write(folder / "hourly.h5", "[0, 1, 2, 3, 4, 5]", north);
  EXPECT_EQ(refusal({a, later}), "");
  EXPECT_EQ(refusal({a, hourly}), name_of(errors::data_mismatch));
}

TEST(ArrayCoordinates, OfOtherDataAreThoseOfTheTraining) {
  const TemporaryFolder folder;
  const auto train = open_array_store({write(folder / "a.h5", hours, north)}, both());
  const auto refused = [&](const std::string& times, const std::string& latitudes) {
    const auto other = open_array_store({write(folder / "b.h5", times, latitudes)}, both());
    return cause_of([&] { require_same_shape(*train, *other); });
  };
  EXPECT_EQ(refused(hours, north), "");
  EXPECT_EQ(refused(hours, "[-30, -10, 10, 31]"), name_of(errors::data_mismatch));
  EXPECT_EQ(refused("[0, 1, 2, 3, 4, 5]", north), name_of(errors::data_mismatch));
}

}  // namespace mylos::array_coordinates_test

#include "mylos/data/arrays/encodings/encoder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "data/arrays/array_builders.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::encoder_test {

using namespace testing_support;
using test::cause_of;

/// 12-hourly levels from noon of December 30, 2000, on a grid of 3 latitudes and 4 longitudes.
constexpr const char* lines =
    "f['u'] = code(6, 3, 4)\n"
    "f['time'] = 0.5 * n.arange(6); f['time'].attrs['units'] = 'days since 2000-12-30 12:00'\n"
    "f['lat'] = n.array([-30.0, 0, 90]); f['lat'].attrs['units'] = 'degrees_north'\n"
    "f['lon'] = 90.0 * n.arange(4); f['lon'].attrs['units'] = 'degrees_east'\n"
    "for i, k in enumerate(['time', 'lat', 'lon']): f[k].make_scale(k); f['u'].dims[i].attach_scale(f[k])";

ArrayOptions encoded() {
  ArrayOptions options = one_array("/u", {"time", "lat", "lon"});
  options.encodings = {Encoding::longitude, Encoding::day_of_year, Encoding::latitude, Encoding::hour};
  return options;
}

float wave(double turns, bool is_cosine) {
  const double angle = 2 * std::numbers::pi * turns;
  return static_cast<float>(is_cosine ? std::cos(angle) : std::sin(angle));
}

/// Returns what the inputs of a window from `level` on have at a point, in the order of the names.
std::vector<float> expected(int level, int lat, int lon) {
  const double day = 364.5 + 0.5 * level;  // of 2000, which has 366
  const double year = day < 366 ? day / 366 : (day - 366) / 365;
  const double hour = level % 2 == 0 ? 0.5 : 0;
  const double degrees[] = {-30, 0, 90};
  return {
      coded(level, lat, lon), wave(year, false),      wave(year, true),      wave(hour, false),
      wave(hour, true),       wave(lon / 4.0, false), wave(lon / 4.0, true), wave(degrees[lat] / 360, false)};
}

TEST(Encoder, AddsChannelsOfTimesAndPlaces) {
  const TemporaryFolder folder;
  const auto store = open_array_store({write_arrays(folder / "a.h5", lines)}, encoded());
  EXPECT_EQ(store->input_names(),
            (std::vector<std::string>{"u", "sin(day_of_year)", "cos(day_of_year)", "sin(hour)", "cos(hour)",
                                      "sin(longitude)", "cos(longitude)", "sin(latitude)"}));
  ASSERT_EQ(store->samples(), 5);
  for (int level = 0; level < 5; ++level) {
    const std::vector<float> inputs = inputs_of(*store, level);
    for (int point = 0; point < 12; ++point) {
      const std::vector<float> channels = expected(level, point / 4, point % 4);
      for (std::size_t i = 0; i < channels.size(); ++i)
        EXPECT_FLOAT_EQ(inputs[static_cast<std::size_t>(point) * 8 + i], channels[i]) << level << point << i;
    }
  }
  const ColumnStatistics statistics = store->input_statistics({0, 5});
  EXPECT_EQ(statistics.mean[1], 0);
  EXPECT_EQ(statistics.deviation[7], 1);
  EXPECT_NE(statistics.mean[0], 0);
  EXPECT_NE(store->location_of_input(0, 1).find("sin(day_of_year)"), std::string::npos);
}

TEST(Encoder, FollowsTheOrderOfNamesAndPoints) {
  const TemporaryFolder folder;
  ArrayOptions options = encoded();
  options.points_are_samples = true;
  const auto store = open_array_store({write_arrays(folder / "a.h5", lines)}, options);
  ASSERT_EQ(store->samples(), 60);
  store->reorder({7, 6, 5, 4, 3, 2, 1, 0}, {});
  const std::vector<float> inputs = inputs_of(*store, 10, 15);  // over the end of a window
  for (int i = 0; i < 15; ++i) {
    const int sample = 10 + i;
    const std::vector<float> channels = expected(sample / 12, sample % 12 / 4, sample % 4);
    for (std::size_t k = 0; k < 8; ++k)
      EXPECT_FLOAT_EQ(inputs[static_cast<std::size_t>(i) * 8 + k], channels[7 - k]);
  }
}

TEST(Encoder, HasStepsOfRolloutsAndLevelsBeyondTheLast) {
  const TemporaryFolder folder;
  const std::string path = write_arrays(folder / "a.h5", lines);
  const auto store = open_array_store({path}, encoded(), 3);
  EXPECT_EQ(store->rollout().encoded, 4);
  EXPECT_EQ(store->rollout().forcing, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(store->rollout().constants, 3);
  const std::vector<float> inputs = inputs_of(*store, 1);
  for (int step = 1; step < 3; ++step) {
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t channel = 8 + static_cast<std::size_t>(step - 1) * 4 + k;
      EXPECT_FLOAT_EQ(inputs[channel], expected(1 + step, 0, 0)[1 + k]);
      EXPECT_FLOAT_EQ(inputs[11 * 16 + channel], expected(1 + step, 0, 0)[1 + k]);
    }
  }
  const auto single = open_array_store({path}, encoded());
  std::vector<float> level(12 * 8, -5);
  single->encode_level(0, 9, 0, level.data());
  EXPECT_FLOAT_EQ(level[1], expected(9, 0, 0)[1]);
  EXPECT_EQ(level[0], -5);
}

TEST(Encoder, NeedsItsCoordinates) {
  const TemporaryFolder folder;
  for (const char* without : {"time", "lat", "lon"}) {
    const std::string path =
        write_arrays(folder / "a.h5", std::string(lines) + "\nf['" + without + "'].attrs['units'] = 'm'");
    EXPECT_EQ(cause_of([&] { static_cast<void>(open_array_store({path}, encoded())); }),
              name_of(errors::data_mismatch))
        << without;
    ArrayOptions others = encoded();
    others.encodings.clear();
    EXPECT_EQ(cause_of([&] { static_cast<void>(open_array_store({path}, others)); }), "") << without;
  }
}

}  // namespace mylos::encoder_test

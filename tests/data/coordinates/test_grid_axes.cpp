#include "mylos/data/coordinates/grid_axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/samples.hpp"
#include "support/said.hpp"

namespace mylos::grid_axes_test {

using test::cause_of;

std::vector<double> points(double first, double step, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(first + step * i);
  return values;
}

GridAxis latitudes(std::vector<double> values, const std::string& units = "degrees_north") {
  return {"lat", units, std::move(values)};
}
GridAxis longitudes(std::vector<double> values) {
  return {"lon", "degrees_east", std::move(values)};
}

bool same(const GridAxis& expected, const GridAxis& given) {
  return cause_of([&] { require_same_axes({expected}, "a", {given}, "b"); }).empty();
}
bool same_direction(const GridAxis& expected, const GridAxis& given) {
  return cause_of([&] { require_same_directions({expected}, "a", {given}, "b"); }).empty();
}

TEST(GridAxes, AreTheSameWithinTheRoundingOfTheirCoordinates) {
  const std::vector<double> exact = points(-90, 0.25, 721);
  std::vector<double> rounded = exact;
  for (double& value : rounded) value = static_cast<double>(static_cast<float>(value + 1e-6));
  EXPECT_TRUE(same(latitudes(exact), latitudes(rounded)));
  std::vector<double> moved = exact;
  moved[400] += 0.01;
  EXPECT_FALSE(same(latitudes(exact), latitudes(moved)));
  EXPECT_FALSE(same(latitudes(exact), latitudes(points(-90 + 0.125, 0.25, 721)))) << "half a cell further";
  moved[400] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(same(latitudes(exact), latitudes(moved)));
  EXPECT_TRUE(same(latitudes(moved), latitudes(moved)));
}

TEST(GridAxes, InReverseOrderAreOthers) {
  std::vector<double> north = points(-88, 8, 23);
  const std::vector<double> south(north.rbegin(), north.rend());
  EXPECT_FALSE(same(latitudes(north), latitudes(south)));
  EXPECT_FALSE(same_direction(latitudes(north), latitudes(south)));
  EXPECT_EQ(cause_of([&] { require_same_axes({latitudes(north)}, "a", {latitudes(south)}, "b"); }),
            name_of(errors::data_mismatch));
}

TEST(GridAxes, ThatAreStretchedMayBeRoundedToFloat) {
  std::vector<double> wall;
  for (int i = 0; i < 40; ++i) wall.push_back(2 - std::pow(0.75, i));
  std::vector<double> rounded = wall;
  for (double& value : rounded) value = static_cast<double>(static_cast<float>(value));
  EXPECT_TRUE(same({"y", "m", wall}, {"y", "m", rounded}));
}

TEST(GridAxes, OfOnePointOrWithoutNumbersAreTheSameAsThemselves) {
  constexpr double missing = std::numeric_limits<double>::quiet_NaN();
  for (const std::vector<double>& values :
       {std::vector<double>{5}, {missing, 5, 6}, {missing, missing}, {-180, 180}, {-180, 0, 180}, {3, 3, 3}})
    EXPECT_TRUE(same(longitudes(values), longitudes(values))) << values.size();
}

TEST(GridAxes, OfAnotherNumberOfPointsRunInTheSameDirection) {
  EXPECT_TRUE(same(latitudes(points(-88, 8, 23)), latitudes(points(-90, 4, 46))));
  EXPECT_FALSE(same(latitudes(points(-88, 8, 23)), latitudes(points(90, -4, 46))));
  EXPECT_TRUE(same_direction(latitudes(points(0, 1, 8)), latitudes(points(50, 2, 8)))) << "another region";
}

TEST(GridAxes, OfLongitudesRepeatAfterAFullCircle) {
  std::vector<double> around = points(180, 5, 72);
  std::vector<double> centred;
  for (const double value : around) centred.push_back(value >= 180 && value < 360 ? value - 360 : value);
  EXPECT_TRUE(same(longitudes(around), longitudes(centred)));
  EXPECT_TRUE(same(longitudes(points(0, 5, 72)), longitudes(points(360, 5, 72))));
  EXPECT_FALSE(same(longitudes(points(0, 5, 72)), longitudes(points(-180, 5, 72))))
      << "another first meridian";
  EXPECT_FALSE(same({"x", "m", points(0, 5, 72)}, {"x", "m", points(360, 5, 72)}));
  std::vector<double> wrapped = points(180, 5, 72);
  for (double& value : wrapped) value = std::fmod(value, 360);  // descends once
  EXPECT_TRUE(same_direction(longitudes(points(0, 5, 72)), longitudes(wrapped)));
}

TEST(GridAxes, HaveTheSameUnits) {
  const std::vector<double> values = points(0, 1, 5);
  EXPECT_FALSE(same({"z", "m", values}, {"z", "km", values}));
  EXPECT_FALSE(same_direction({"z", "m", values}, {"z", "km", values}));
  EXPECT_TRUE(same(latitudes(values), latitudes(values, "degreesN")));
  EXPECT_TRUE(same(latitudes(values), latitudes(values, ""))) << "one states none";
}

TEST(GridAxes, ThatAreNotKnownAreNotCompared) {
  EXPECT_TRUE(same(latitudes({}), latitudes(points(0, 1, 4))));
  EXPECT_TRUE(same(latitudes(points(0, 1, 4)), latitudes({})));
  EXPECT_EQ(note_on_unknown_axes({latitudes(points(0, 1, 4))}, {latitudes(points(0, 1, 4))}, "b"), "");
  EXPECT_NE(note_on_unknown_axes({latitudes(points(0, 1, 4))}, {}, "b").find("lat"), std::string::npos);
}

TEST(GridAxes, ReturnExactlyFromTheirText) {
  const GridAxes axes{latitudes(points(-1.0 / 3, 0.1, 7)),
                      {"y", "", {}},
                      {"level", "m\tor\nso", {std::numeric_limits<double>::quiet_NaN(), 1e-300}}};
  const GridAxes read = axes_of_text(text_of_axes(axes), "here");
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0], axes[0]);
  EXPECT_EQ(read[1], axes[1]);
  EXPECT_EQ(read[2].units, "m or so");
  EXPECT_TRUE(std::isnan(read[2].values[0]));
  EXPECT_EQ(read[2].values[1], 1e-300);
  EXPECT_TRUE(axes_of_text("", "here").empty());
  const GridAxes of_array{{"channel", "hPa", {850, 500}, "/my u"}, {"lat", "", {}, "/my u"}};
  EXPECT_EQ(axes_of_text(text_of_axes(of_array), "here"), of_array);
  for (const char* bad : {"lat\tm\tone", "lat\tm\t1 2", "lat\tm\t1,5"})
    EXPECT_EQ(cause_of([&] { static_cast<void>(axes_of_text(bad, "here")); }), name_of(errors::damaged))
        << bad;
}

TEST(GridAxes, OfArraysAreComparedByArray) {
  const GridAxis lat = latitudes({10, 20});
  const auto with = [&](std::vector<double> of_v) {
    return GridAxes{lat, {"lat", "", std::move(of_v), "/v"}};
  };
  const auto agree = [](const GridAxes& expected, const GridAxes& given) {
    return cause_of([&] { require_same_axes(expected, "a", given, "b"); }).empty();
  };
  EXPECT_TRUE(agree(with({}), with({}))) << "those of the grid";
  EXPECT_TRUE(agree(with({15, 25}), with({15, 25})));
  EXPECT_FALSE(agree(with({15, 25}), with({})));
  EXPECT_FALSE(agree(with({}), with({15, 25})));
  EXPECT_TRUE(agree(with({15, 25}), {lat})) << "without the array";
  EXPECT_TRUE(agree({lat}, with({15, 25})));
  GridAxes unknown{{"lat"}, {"lat", "", {}, "/v"}};
  EXPECT_TRUE(agree(unknown, with({15, 25})));
  complete_axes(unknown, with({15, 25}));
  EXPECT_EQ(unknown, with({15, 25}));
}

}  // namespace mylos::grid_axes_test

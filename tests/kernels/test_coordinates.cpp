// Coordinates: the positions i / n of each axis, rounded once, after the channels of the grid.
#include "mylos/kernels/grid/coordinates.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"

namespace mylos::coordinates_test {

constexpr std::int64_t samples = 2;

class Coordinates : public testing::TestWithParam<std::tuple<GridShape, DType>> {};

TEST_P(Coordinates, AreThePositionsOfAPeriodicGrid) {
  const auto& [grid, type] = GetParam();
  const std::size_t axes = grid.extent[0] > 1 ? 3 : grid.extent[1] > 1 ? 2 : 1;
  const GridShape output = with_coordinates(grid, axes);
  const auto x = test::random_values(type, samples * grid.columns(), -1, 1, 1);
  const test::Matrix in(type, samples, grid.columns(), x);
  const test::Matrix out(type, samples, output.columns());
  append_coordinates(Execution{}, grid, axes, in, out);
  std::vector<float> expected;
  for (std::int64_t row = 0; row < samples * grid.points(); ++row) {
    const auto first = x.begin() + row * grid.channels;
    expected.insert(expected.end(), first, first + grid.channels);
    const std::int64_t point = row % grid.points();
    const std::int64_t position[] = {point / (grid.extent[1] * grid.extent[2]),
                                     point / grid.extent[2] % grid.extent[1], point % grid.extent[2]};
    for (std::size_t axis = 3 - axes; axis < 3; ++axis)
      expected.push_back(
          test::rounded_to(type, static_cast<float>(position[axis]) / static_cast<float>(grid.extent[axis])));
  }
  EXPECT_EQ(out.values(), expected);

  const test::Matrix back(type, samples, grid.columns());
  coordinates_backward(Execution{}, grid, axes, out, back);
  EXPECT_EQ(back.values(), x) << "the gradient of the channels alone";
}

TEST(CoordinatesOfABox, AreThoseOfTheWholeGrid) {
  const GridShape box{{2, 3, 5}, 1};
  const GridPart part{.boxes = {1, 7, 3}, .at = {0, 6, 1}};
  const test::Matrix in(DType::fp32, 1, box.columns());
  const test::Matrix out(DType::fp32, 1, with_coordinates(box, 3).columns());
  append_coordinates(Execution{}, box, 3, in, out, part);
  const std::vector<float> values = out.values();
  for (std::int64_t point = 0; point < box.points(); ++point) {
    const auto at = static_cast<std::size_t>(4 * point);
    EXPECT_EQ(values[at + 1], static_cast<float>(point / 15) / 2.0f);
    EXPECT_EQ(values[at + 2], static_cast<float>(18 + point / 5 % 3) / 21.0f);
    EXPECT_EQ(values[at + 3], static_cast<float>(5 + point % 5) / 15.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, Coordinates,
                         testing::Combine(testing::Values(GridShape{{1, 1, 7}, 3}, GridShape{{1, 5, 6}, 1},
                                                          GridShape{{2, 3, 4}, 300}),
                                          testing::ValuesIn(test::all_types)));

}  // namespace mylos::coordinates_test

// The average over all points of a grid against its definition, in double.
#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"
#include "mylos/kernels/grid/pooling.hpp"

namespace mylos::global_average_test {

constexpr std::int64_t samples = 3;

class GlobalAverage : public testing::TestWithParam<std::tuple<GridShape, DType>> {};

TEST_P(GlobalAverage, IsTheMeanOverThePointsAndSpreadsItsGradient) {
  const auto [grid, type] = GetParam();
  const auto x = test::random_values(type, samples * grid.columns(), -1, 2, 1);
  const auto dy = test::random_values(type, samples * grid.channels, -1, 1, 2);
  const test::Matrix in(type, samples, grid.columns(), x);
  const test::Matrix out(type, samples, grid.channels);
  const test::Matrix d_out(type, samples, grid.channels, dy);
  const test::Matrix d_in(type, samples, grid.columns());
  const Arena workspace("workspace", global_average_workspace(grid, samples));
  global_average_forward(Execution{}, grid, in, out, workspace.data());
  global_average_backward(Execution{}, grid, d_out, d_in);
  test::Sums y(samples * grid.channels);
  const auto points = static_cast<double>(grid.points());
  const auto output_of = [&, channels = grid.channels, columns = grid.columns()](std::size_t i) {
    const auto at = static_cast<std::int64_t>(i);
    return at / columns * channels + at % channels;
  };
  for (std::size_t i = 0; i < x.size(); ++i) y.add(output_of(i), x[i]);
  const auto found = out.values();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = y.value[i] / points;
    ASSERT_NEAR(found[i], expected,
                test::rounding_error(type, expected) + test::summing_error(points, y.magnitude[i]) / points);
  }
  const auto dx = d_in.values();
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double expected = dy[static_cast<std::size_t>(output_of(i))] / points;
    ASSERT_NEAR(dx[i], expected, test::rounding_error(type, expected) + 3 * test::u * std::abs(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, GlobalAverage,
                         testing::Combine(testing::Values(GridShape{{1, 1, 1}, 7}, GridShape{{3, 5, 4}, 12},
                                                          GridShape{{1, 150, 120}, 3},
                                                          GridShape{{1, 9, 9}, 301}),
                                          testing::ValuesIn(test::all_types)));

}  // namespace mylos::global_average_test

// Pooling against its definition, in double; its gradients against central differences and the adjoint.
#include "mylos/kernels/pooling.hpp"

#include <gmock/gmock.h>

#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"

namespace mylos::pooling_test {

constexpr std::int64_t samples = 3;

/// function(window, point) with the indices of elements, for every point that a window sees, in its order.
template <class Function>
void for_each_seen(const PoolShape& shape, const Function& function) {
  const GridShape output = output_grid(shape);
  const std::int64_t channels = shape.input.channels;
  for (std::int64_t row = 0; row < samples * output.points(); ++row) {
    const std::int64_t of[3] = {row / (output.extent[1] * output.extent[2]) % output.extent[0],
                                row / output.extent[2] % output.extent[1], row % output.extent[2]};
    for (std::int64_t tap = 0; tap < shape.window[0] * shape.window[1] * shape.window[2]; ++tap) {
      const std::int64_t t[3] = {tap / (shape.window[1] * shape.window[2]),
                                 tap / shape.window[2] % shape.window[1], tap % shape.window[2]};
      std::int64_t point = row / output.points();
      bool inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int64_t at = of[axis] * shape.stride[axis] - shape.padding[axis] + t[axis];
        inside = inside && at >= 0 && at < shape.input.extent[axis];
        point = point * shape.input.extent[axis] + at;
      }
      for (std::int64_t c = 0; inside && c < channels; ++c)
        function(row * channels + c, point * channels + c);
    }
  }
}

const PoolShape shapes[] = {
    {.input = {{1, 6, 8}, 5}, .window = {1, 2, 2}, .stride = {1, 2, 2}},
    {.input = {{1, 7, 9}, 4}, .window = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}},
    {.input = {{4, 5, 6}, 3}, .window = {2, 3, 3}, .stride = {1, 1, 2}, .padding = {1, 2, 0}},
    {.input = {{1, 1, 11}, 301}, .window = {1, 1, 3}, .stride = {1, 1, 4}},
    {.input = {{1, 4, 4}, 8}, .window = {1, 4, 4}},
};

class Pooling : public testing::TestWithParam<std::tuple<PoolShape, DType>> {
 protected:
  DType type() const { return std::get<1>(GetParam()); }
  const PoolShape& shape() const { return std::get<0>(GetParam()); }
  std::int64_t inputs() const { return shape().input.columns(); }
  std::int64_t outputs() const { return output_grid(shape()).columns(); }
  void SetUp() override { check(shape()); }
};

/// Few values, so that many windows have several maxima.
std::vector<float> coarse_values(std::int64_t count, unsigned seed) {
  auto values = test::random_values(DType::fp32, count, -3, 3, seed);
  for (float& value : values) value = std::round(value);
  return values;
}

TEST_P(Pooling, MaximumAndItsGradientToTheFirst) {
  const auto x = coarse_values(samples * inputs(), 1);
  const auto dy = test::random_values(type(), samples * outputs(), -1, 1, 2);
  std::vector<float> largest(dy.size(), -100.0f);
  std::vector<std::int64_t> where(dy.size(), -1);
  for_each_seen(shape(), [&](std::int64_t window, std::int64_t point) {
    const auto w = static_cast<std::size_t>(window);
    const float value = x[static_cast<std::size_t>(point)];
    if (value <= largest[w]) return;
    largest[w] = value;
    where[w] = point;
  });
  test::Sums expected(samples * inputs());
  for (std::size_t w = 0; w < dy.size(); ++w) expected.add(where[w], dy[w]);

  const test::Matrix in(type(), samples, inputs(), x);
  const test::Matrix out(type(), samples, outputs());
  const test::Matrix d_out(type(), samples, outputs(), dy);
  const test::Matrix d_in(type(), samples, inputs());
  max_pool_forward(Execution{}, shape(), in, out);
  max_pool_backward(Execution{}, shape(), in, d_out, d_in);
  EXPECT_EQ(out.values(), largest);
  const auto dx = d_in.values();
  for (std::size_t i = 0; i < dx.size(); ++i) {
    ASSERT_NEAR(dx[i], expected.value[i],
                test::rounding_error(type(), expected.value[i]) +
                    test::summing_error(expected.terms[i], expected.magnitude[i]));
  }
}

TEST_P(Pooling, AverageAndItsAdjoint) {
  const auto x = test::random_values(type(), samples * inputs(), -1, 1, 1);
  const auto dy = test::random_values(type(), samples * outputs(), -1, 1, 2);
  test::Sums y(samples * outputs());
  for_each_seen(shape(), [&](std::int64_t window, std::int64_t point) {
    y.add(window, x[static_cast<std::size_t>(point)]);
  });
  test::Sums dx(samples * inputs());
  for_each_seen(shape(), [&](std::int64_t window, std::int64_t point) {
    const auto w = static_cast<std::size_t>(window);
    dx.add(point, dy[w] / y.terms[w]);
  });
  const test::Matrix in(type(), samples, inputs(), x);
  const test::Matrix out(type(), samples, outputs());
  const test::Matrix d_out(type(), samples, outputs(), dy);
  const test::Matrix d_in(type(), samples, inputs());
  average_pool_forward(Execution{}, shape(), in, out);
  average_pool_backward(Execution{}, shape(), d_out, d_in);
  const auto found = out.values();
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double expected = y.value[i] / y.terms[i];
    ASSERT_NEAR(found[i], expected,
                test::rounding_error(type(), expected) +
                    test::summing_error(y.terms[i], y.magnitude[i], 2) / y.terms[i]);
  }
  const auto gradient = d_in.values();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    ASSERT_NEAR(
        gradient[i], dx.value[i],
        test::rounding_error(type(), dx.value[i]) + test::summing_error(dx.terms[i], dx.magnitude[i], 3));
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, Pooling,
                         testing::Combine(testing::ValuesIn(shapes), testing::ValuesIn(test::all_types)));

TEST(MaxPool, KeepsNaNAndGivesItTheGradient) {
  const PoolShape shape = {.input = {{1, 1, 6}, 1}, .window = {1, 1, 3}, .stride = {1, 1, 3}};
  const test::Matrix x(DType::fp32, 1, 6, {2, NAN, NAN, 1, 5, 5});
  const test::Matrix y(DType::fp32, 1, 2);
  const test::Matrix dy(DType::fp32, 1, 2, {3, 4});
  const test::Matrix dx(DType::fp32, 1, 6);
  max_pool_forward(Execution{}, shape, x, y);
  max_pool_backward(Execution{}, shape, x, dy, dx);
  EXPECT_TRUE(std::isnan(y.values()[0]));
  EXPECT_EQ(y.values()[1], 5);
  EXPECT_EQ(dx.values(), (std::vector<float>{0, 3, 0, 0, 4, 0}));
}

TEST(MaxPool, OfInfinitiesIsOne) {
  const PoolShape shape = {.input = {{1, 1, 2}, 1}, .window = {1, 1, 2}};
  const test::Matrix x(DType::fp32, 1, 2, {-INFINITY, -INFINITY});
  const test::Matrix y(DType::fp32, 1, 1);
  const test::Matrix dy(DType::fp32, 1, 1, {1});
  const test::Matrix dx(DType::fp32, 1, 2);
  max_pool_forward(Execution{}, shape, x, y);
  max_pool_backward(Execution{}, shape, x, dy, dx);
  EXPECT_EQ(y.values()[0], -INFINITY);
  EXPECT_EQ(dx.values(), (std::vector<float>{1, 0}));
}

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

TEST(PoolShape, SaysWhatIsWrong) {
  const auto expect_refusal = [](const PoolShape& shape, const char* message) {
    try {
      check(shape);
      FAIL() << "not refused: " << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::bad_input);
      EXPECT_THAT(error.what(), testing::HasSubstr(message));
    }
  };
  const GridShape grid{{1, 4, 4}, 2};
  expect_refusal({.input = grid, .window = {1, 2, 2}, .padding = {0, 2, 0}}, "less than a window");
  expect_refusal({.input = grid, .window = {1, 5, 2}}, "where the grid has 4: none fits");
  expect_refusal({.input = grid, .window = {1, 0, 2}}, "windows of 0 points");
  expect_refusal({.input = grid, .stride = {1, 1, 0}}, "0 apart, in width");
}

}  // namespace mylos::pooling_test

// Pooling against its definition, in double; its gradients against central differences and the adjoint.
#include "mylos/kernels/grid/pooling.hpp"

#include <chrono>

#include "kernels/matrix.hpp"
#include "kernels/reference_convolution.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "support/refusal.hpp"

namespace mylos::pooling_test {

constexpr std::int64_t samples = 3;

/// Calls function(window, point) with the indices of elements, for every point that a window sees, in its
/// order.
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
    // Few channels, so that a host's tile contains several points; lines longer than a tile.
    {.input = {{1, 1, 700}, 1}, .window = {1, 1, 5}, .stride = {1, 1, 1}, .padding = {0, 0, 2}},
    {.input = {{1, 1, 701}, 1}, .window = {1, 1, 3}, .stride = {1, 1, 2}, .padding = {0, 0, 1}},
    {.input = {{1, 1, 600}, 1}, .window = {1, 1, 2}, .stride = {1, 1, 2}},
    {.input = {{1, 1, 700}, 3}, .window = {1, 1, 31}, .stride = {1, 1, 2}, .padding = {0, 0, 15}},
    {.input = {{1, 5, 203}, 3}, .window = {1, 3, 7}, .stride = {1, 2, 3}, .padding = {0, 1, 3}},
    {.input = {{1, 6, 90}, 3}, .window = {1, 5, 5}, .stride = {1, 1, 1}, .padding = {0, 2, 2}},
    // Windows longer than the grid, so that none sees all of its points.
    {.input = {{1, 20, 9}, 2}, .window = {1, 31, 15}, .stride = {1, 1, 2}, .padding = {0, 15, 7}},
    {.input = {{6, 6, 6}, 4}, .window = {5, 5, 5}, .stride = {1, 1, 1}, .padding = {2, 2, 2}},
    {.input = {{2, 3, 4}, 2}},
    // Windows with many channels that do not overlap; points in no window, and in padding.
    {.input = {{4, 5, 23}, 12}, .window = {2, 2, 3}, .stride = {2, 2, 3}, .padding = {1, 0, 1}},
    {.input = {{1, 7, 9}, 300}, .window = {1, 2, 2}, .stride = {1, 3, 4}, .padding = {0, 1, 0}},
};

/// A workspace full of NaN.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : arena_("workspace", bytes + 4) {
    const Execution exec;
    fill(exec, Tensor(arena_.data(), DType::fp32, 1, static_cast<std::int64_t>(bytes / 4 + 1)), NAN);
    exec.fence();  // the kernel may run in another stream
  }
  [[nodiscard]] void* data() const { return arena_.data(); }

 private:
  Arena arena_;
};

void max_forward(const PoolShape& shape, const Tensor& x, const Tensor& y, const Execution& exec = {}) {
  const Workspace workspace(max_pool_workspace(shape, x.type(), x.rows()).forward);
  max_pool_forward(exec, shape, x, y, workspace.data());
  exec.fence();
}
void max_backward(const PoolShape& shape, const Tensor& x, const Tensor& dy, const Tensor& dx,
                  const Execution& exec = {}) {
  const Arena outputs("outputs", dy.bytes());
  const Tensor y = outputs.tensor(0, x.type(), dy.rows(), dy.columns());
  max_forward(shape, x, y);
  const Workspace workspace(max_pool_workspace(shape, x.type(), x.rows()).backward);
  fill(exec, dx, NAN);  // all is written
  max_pool_backward(exec, shape, x, y, dy, dx, workspace.data());
  exec.fence();
}
void average_forward(const PoolShape& shape, const Tensor& x, const Tensor& y, const Execution& exec = {}) {
  const Workspace workspace(average_pool_workspace(shape, x.rows()).forward);
  average_pool_forward(exec, shape, x, y, workspace.data());
  exec.fence();
}
void average_backward(const PoolShape& shape, const Tensor& dy, const Tensor& dx,
                      const Execution& exec = {}) {
  const Workspace workspace(average_pool_workspace(shape, dy.rows()).backward);
  average_pool_backward(exec, shape, dy, dx, workspace.data());
  exec.fence();
}

class Pooling : public testing::TestWithParam<std::tuple<PoolShape, DType>> {
 protected:
  DType type() const { return std::get<1>(GetParam()); }
  const PoolShape& shape() const { return std::get<0>(GetParam()); }
  std::int64_t inputs() const { return shape().input.columns(); }
  std::int64_t outputs() const { return output_grid(shape()).columns(); }
  void SetUp() override { check(shape()); }
};

/// Few different values, so that many windows have several maxima.
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
  max_forward(shape(), in, out);
  max_backward(shape(), in, d_out, d_in);
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
  average_forward(shape(), in, out);
  average_backward(shape(), d_out, d_in);
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
  max_forward(shape, x, y);
  max_backward(shape, x, dy, dx);
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
  max_forward(shape, x, y);
  max_backward(shape, x, dy, dx);
  EXPECT_EQ(y.values()[0], -INFINITY);
  EXPECT_EQ(dx.values(), (std::vector<float>{1, 0}));
}

TEST(MaxPool, OfSeveralAxesTakesTheFirstMaximumInTheOrderOfThePoints) {
  // 9 occurs three times in the window, NaN twice in that of the other sample: lines are compared before
  // columns.
  const PoolShape shape = {.input = {{1, 3, 3}, 1}, .window = {1, 3, 3}};
  const test::Matrix x(DType::fp32, 2, 9, {1, 2, 9, 9, 0, 3, 9, 1, 1, 1, 2, NAN, NAN, 5, 3, 9, 1, 1});
  const test::Matrix dy(DType::fp32, 2, 1, {4, 6});
  const test::Matrix dx(DType::fp32, 2, 9);
  max_backward(shape, x, dy, dx);
  EXPECT_EQ(dx.values(), (std::vector<float>{0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0}));
}

TEST(MaxPool, KeepsSubnormalNumbers) {
  const PoolShape shape = {.input = {{1, 2, 2}, 1}, .window = {1, 2, 2}};
  const float tiny = 1e-39f;
  for (const DType type : {DType::fp32, DType::bf16}) {
    const test::Matrix x(type, 1, 4, {0, tiny, 0, 2 * tiny});
    const test::Matrix dy(type, 1, 1, {1});
    const test::Matrix dx(type, 1, 4);
    max_backward(shape, x, dy, dx);
    EXPECT_EQ(dx.values(), (std::vector<float>{0, 0, 0, 1})) << name_of(type);
  }
}

TEST(Pool, GivesTheSameBitsForAnyNumberOfThreadsAndOfSamplesTogether) {
  // On hosts, more samples than the workspace holds at once.
  const PoolShape shape = {
      .input = {{2, 40, 41}, 17}, .window = {2, 5, 4}, .stride = {1, 1, 2}, .padding = {1, 2, 1}};
  constexpr std::int64_t many = 11;
  const std::int64_t outputs = output_grid(shape).columns();
  if constexpr (runs_on_host) {  // a device's workspace holds all samples
    ASSERT_LT(max_pool_workspace(shape, DType::bf16, many).backward,
              many * max_pool_workspace(shape, DType::bf16, 1).backward / 2);
  }
  for (const DType type : test::all_types) {
    const test::Matrix x(type, many, shape.input.columns(), coarse_values(many * shape.input.columns(), 1));
    const test::Matrix dy(type, many, outputs, test::random_values(type, many * outputs, -1, 1, 2));
    const auto all = [&](const Execution& exec, std::int64_t together) {
      std::vector<std::byte> bytes;
      for (std::int64_t first = 0; first < many; first += together) {
        const std::int64_t count = std::min(together, many - first);
        const test::Matrix y(type, count, outputs);
        const test::Matrix dx(type, count, shape.input.columns());
        const Tensor own_x = x.tensor().row_range(first, count);
        const Tensor own_dy = dy.tensor().row_range(first, count);
        const auto keep = [&](const test::Matrix& of) {
          const auto more = of.bytes();
          bytes.insert(bytes.end(), more.begin(), more.end());
        };
        max_forward(shape, own_x, y, exec);
        keep(y);
        max_backward(shape, own_x, own_dy, dx, exec);
        keep(dx);
        average_forward(shape, own_x, y, exec);
        keep(y);
        average_backward(shape, own_dy, dx, exec);
        keep(dx);
      }
      return bytes;
    };
    const auto one_by_one = all(Execution{}, 1);
    EXPECT_EQ(all(test::narrower_execution(), 1), one_by_one) << name_of(type);
    const auto at_once = all(Execution{}, many);
    ASSERT_EQ(at_once.size(), one_by_one.size());
    // Sample by sample: `at_once` has all samples of a pass together, `one_by_one` all passes of a sample.
    std::size_t at = 0;
    for (std::size_t sample = 0; sample < many; ++sample) {
      std::size_t pass_begin = 0;
      for (const std::int64_t columns : {outputs, shape.input.columns(), outputs, shape.input.columns()}) {
        const std::size_t bytes = static_cast<std::size_t>(columns) * size_of(type);
        const auto from = at_once.begin() + static_cast<std::ptrdiff_t>(pass_begin + sample * bytes);
        ASSERT_TRUE(std::equal(from, from + static_cast<std::ptrdiff_t>(bytes),
                               one_by_one.begin() + static_cast<std::ptrdiff_t>(at)));
        at += bytes;
        pass_begin += many * bytes;
      }
    }
  }
}

TEST(Pool, CostsNoMoreThanTheSumOfAWindowsExtents) {
  const auto seconds = [](std::int64_t window) {
    const PoolShape shape = {
        .input = {{1, 48, 48}, 4}, .window = {1, window, window}, .padding = {0, window / 2, window / 2}};
    const test::Matrix x(DType::fp32, 1, shape.input.columns(), coarse_values(shape.input.columns(), 1));
    const test::Matrix dx(DType::fp32, 1, shape.input.columns());
    double least = INFINITY;
    for (int repeat = 0; repeat < 5; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      max_backward(shape, x, x, dx);
      average_backward(shape, x, dx);
      least =
          std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
  };
  // Ten times the taps of a line. With all taps of all windows it would take (31 / 3)^4 times as long.
  EXPECT_LT(seconds(31), 100 * seconds(3));
  EXPECT_EQ(pool_steps({.input = {{4, 6, 8}, 2}, .window = {2, 3, 4}}),
            2.0 * (2 * 3 * 6 * 8 + 3 * 3 * 4 * 8 + 4 * 3 * 4 * 5));
}

TEST(PoolShape, SaysWhatIsWrong) {
  const auto expect_refusal = [](const PoolShape& shape, const char* part) {
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_layer, {part}, [&] { check(shape); }));
  };
  const GridShape grid{{1, 4, 4}, 2};
  expect_refusal({.input = grid, .window = {1, 2, 2}, .padding = {0, 2, 0}}, "padding 2 in height");
  expect_refusal({.input = grid, .window = {1, 5, 2}}, "where the grid has 4");
  expect_refusal({.input = grid, .window = {1, 0, 2}}, "windows of 0 points");
  expect_refusal({.input = grid, .stride = {1, 1, 0}}, "stride 0 in width");
}

}  // namespace mylos::pooling_test

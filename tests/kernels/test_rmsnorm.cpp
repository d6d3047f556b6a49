// Root-mean-square normalisation against a double reference and its central differences.
#include "mylos/kernels/norm/rmsnorm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"

namespace mylos::rmsnorm_test {

constexpr std::int64_t rows = 37;
constexpr std::int64_t columns = 301;
constexpr float epsilon = 1e-5f;

/// The error of central differences in double with h = 1e-5: the third derivative times h^2 / 6, and the
/// rounding of the losses, 300 2^-53 / h.
constexpr double difference_error = 1e-8;

using Values = std::vector<double>;

/// One row by the formula.
Values reference(const Values& x, const Values& weight) {
  double mean_square = 0;
  for (const double value : x) mean_square += value * value / static_cast<double>(x.size());
  Values y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back(x[i] / std::sqrt(mean_square + static_cast<double>(epsilon)) * weight[i]);
  }
  return y;
}

Values widened(const std::vector<float>& values, std::size_t first = 0,
               std::size_t count = std::string::npos) {
  count = std::min(count, values.size() - first);
  return Values(values.begin() + static_cast<std::ptrdiff_t>(first),
                values.begin() + static_cast<std::ptrdiff_t>(first + count));
}

/// The relative error of a row's normalised elements n = x rstd: that of a mean of `count` squares, a square
/// root and four roundings.
double normalizing_error(std::size_t count) {
  return test::summing_error(static_cast<double>(count), 1, 8);
}

/// A layer with its tensors after the forward pass.
struct RmsNormCase {
  explicit RmsNormCase(DType type, DType weight_type = DType::fp32)
      : x(type, rows, columns, test::random_values(type, rows * columns, -2, 3, 1)),
        dy(type, rows, columns, test::random_values(type, rows * columns, -1, 1, 2)),
        residual(type, rows, columns, test::random_values(type, rows * columns, -1, 1, 5)),
        weight(weight_type, 1, columns, test::random_values(weight_type, columns, 0.5f, 1.5f, 3)),
        y(type, rows, columns),
        dx(type, rows, columns),
        rstd(DType::fp32, 1, rows),
        dweight(DType::fp32, 1, columns),
        workspace("workspace", rmsnorm_backward_workspace(rows, columns)) {
    rmsnorm_forward(Execution{}, x, weight, y, rstd.floats(), epsilon);
  }
  void backward(const Execution& exec, const Tensor& d_out, const Tensor& d_in, bool accumulate = false,
                const Tensor& past = {}) const {
    rmsnorm_backward(exec, x, d_out, weight, rstd.floats(), d_in, dweight, accumulate, workspace.data(),
                     past);
    exec.fence();
  }

  test::Matrix x, dy, residual, weight, y, dx, rstd, dweight;
  Arena workspace;
};

class RmsNorm : public testing::TestWithParam<std::tuple<DType, DType>> {
 protected:
  DType type() const { return std::get<0>(GetParam()); }
  RmsNormCase layer_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(RmsNorm, ForwardIsTheRoundedDoubleReference) {
  const auto x = layer_.x.values();
  const auto y = layer_.y.values();
  for (std::size_t row = 0; row < rows; ++row) {
    const Values expected = reference(widened(x, row * columns, columns), widened(layer_.weight.values()));
    for (std::size_t i = 0; i < columns; ++i) {
      ASSERT_NEAR(
          y[row * columns + i], expected[i],
          test::rounding_error(type(), expected[i]) + normalizing_error(columns) * std::abs(expected[i]));
    }
  }
}

TEST_P(RmsNorm, InputGradientIsTheCentralDifferenceAndWhatGoesPast) {
  layer_.backward(Execution{}, layer_.dy, layer_.dx, false, layer_.residual);
  const auto x = layer_.x.values();
  const auto dy = layer_.dy.values();
  const auto past = layer_.residual.values();
  const auto dx = layer_.dx.values();
  const Values weight = widened(layer_.weight.values());
  for (const std::size_t row : {std::size_t{0}, std::size_t{16}, std::size_t{rows - 1}}) {
    const auto loss_at = [&](const Values& inputs) {
      const Values y = reference(inputs, weight);
      double loss = 0;
      for (std::size_t i = 0; i < columns; ++i) loss += y[i] * dy[row * columns + i];
      return loss;
    };
    const Values n = reference(widened(x, row * columns, columns), Values(columns, 1.0));
    const double rstd = layer_.rstd.values()[row];
    Values g;
    double mean_gn = 0;  // of absolute values
    for (std::size_t i = 0; i < columns; ++i) {
      g.push_back(weight[i] * dy[row * columns + i]);
      mean_gn += std::abs(g[i] * n[i]) / columns;
    }
    for (std::size_t i = 0; i < columns; i += 11) {
      const double through = test::central_difference(loss_at, widened(x, row * columns, columns), i);
      const double expected = through + past[row * columns + i];
      // In float, rstd (g - n mean(g n)): rstd and n contribute once, the mean twice and by its sum.
      const double terms = rstd * (std::abs(g[i]) + std::abs(n[i]) * mean_gn);
      const double bound = test::rounding_error(type(), expected) + 4 * normalizing_error(columns) * terms +
                           test::u * std::abs(expected) + difference_error;
      ASSERT_NEAR(dx[row * columns + i], expected, bound);
    }
  }
}

TEST_P(RmsNorm, WeightGradientsAreTheColumnSums) {
  layer_.backward(Execution{}, layer_.dy, layer_.dx);
  const auto x = layer_.x.values();
  const auto dy = layer_.dy.values();
  const Values ones(columns, 1.0);
  Values dweight(columns);
  Values magnitude(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    const Values n = reference(widened(x, row * columns, columns), ones);
    for (std::size_t i = 0; i < columns; ++i) {
      dweight[i] += dy[row * columns + i] * n[i];
      magnitude[i] += std::abs(dy[row * columns + i] * n[i]);
    }
  }
  const auto found = layer_.dweight.values();
  for (std::size_t i = 0; i < columns; ++i) {
    ASSERT_NEAR(found[i], dweight[i],
                test::summing_error(rows, magnitude[i]) + normalizing_error(columns) * magnitude[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, RmsNorm,
                         testing::Values(std::tuple(DType::fp32, DType::fp32),
                                         std::tuple(DType::bf16, DType::bf16),
                                         std::tuple(DType::fp16, DType::fp16),
                                         std::tuple(DType::bf16, DType::fp32)),
                         [](const auto& parameter) {
                           return fmt::format("{}_weights_{}", name_of(std::get<0>(parameter.param)),
                                              name_of(std::get<1>(parameter.param)));
                         });

TEST(RmsNormBackward, InPlaceGivesTheSameBits) {
  const RmsNormCase layer(DType::bf16);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto dweight = layer.dweight.bytes();
  layer.backward(Execution{}, layer.dy, layer.dy);
  EXPECT_EQ(layer.dy.bytes(), layer.dx.bytes());
  EXPECT_EQ(layer.dweight.bytes(), dweight);
}

TEST(RmsNormBackward, HasTheSameBitsForAnyNumberOfThreads) {
  const RmsNormCase layer(DType::fp16);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto dx = layer.dx.bytes();
  const auto dweight = layer.dweight.bytes();
  for (const Execution& exec : test::narrower_executions()) {
    layer.backward(exec, layer.dy, layer.dx);
    EXPECT_EQ(layer.dx.bytes(), dx) << exec.concurrency();
    EXPECT_EQ(layer.dweight.bytes(), dweight) << exec.concurrency();
  }
}

TEST(RmsNormBackward, AccumulatesOntoWhatIsThere) {
  const RmsNormCase layer(DType::fp32);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto once = layer.dweight.values();
  layer.backward(Execution{}, layer.dy, layer.dx, true);
  const auto twice = layer.dweight.values();
  for (std::size_t i = 0; i < columns; ++i) EXPECT_EQ(twice[i], 2 * once[i]);
}

TEST(RmsNormForward, InPlaceGivesTheSameBits) {
  const RmsNormCase layer(DType::bf16);
  rmsnorm_forward(Execution{}, layer.x, layer.weight, layer.x, layer.rstd.floats(), epsilon);
  EXPECT_EQ(layer.x.bytes(), layer.y.bytes());
}

}  // namespace mylos::rmsnorm_test

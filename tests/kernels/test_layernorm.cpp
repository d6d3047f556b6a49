// Layer normalisation against a double reference and its central differences.
#include "mylos/kernels/norm/layernorm.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"

namespace mylos::layernorm_test {

constexpr std::int64_t rows = 37;
constexpr std::int64_t columns = 301;
constexpr float epsilon = 1e-5f;

/// The error of central differences in double with h = 1e-5: the third derivative times h^2 / 6, and the
/// rounding of the losses, 300 2^-53 / h.
constexpr double difference_error = 1e-8;

using Values = std::vector<double>;

/// One row by the formula.
Values reference(const Values& x, const Values& gamma, const Values& beta) {
  const auto count = static_cast<double>(x.size());
  double mean = 0;
  for (const double value : x) mean += value / count;
  double variance = 0;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  Values y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    y.push_back((x[i] - mean) / std::sqrt(variance + static_cast<double>(epsilon)) * gamma[i] + beta[i]);
  }
  return y;
}

Values widened(const std::vector<float>& values, std::size_t first = 0,
               std::size_t count = std::string::npos) {
  count = std::min(count, values.size() - first);
  return Values(values.begin() + static_cast<std::ptrdiff_t>(first),
                values.begin() + static_cast<std::ptrdiff_t>(first + count));
}

/// The error of a row's normalised elements n = (x - mean) rstd, relative to (|x| + mean(|x|)) rstd: that of
/// a mean of `count` elements, a mean of the same number of squares, a square root and four roundings.
double normalizing_error(std::size_t count) {
  return test::summing_error(static_cast<double>(count), 1, 8);
}

/// What that error is relative to, by element.
Values normalized_sizes(const Values& x, double rstd) {
  double mean = 0;
  for (const double value : x) mean += std::abs(value) / static_cast<double>(x.size());
  Values sizes;
  for (const double value : x) sizes.push_back((std::abs(value) + mean) * rstd);
  return sizes;
}

/// The error in float of rstd (g - mean(g) - n mean(g n)), by element: rstd and n contribute once, the last
/// mean twice and by its sum.
Values input_gradient_error(const Values& g, const Values& sizes, double rstd) {
  const auto count = static_cast<double>(g.size());
  double mean_g = 0;
  double mean_gn = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    mean_g += std::abs(g[i]) / count;
    mean_gn += std::abs(g[i]) * sizes[i] / count;
  }
  Values errors;
  for (std::size_t i = 0; i < g.size(); ++i)
    errors.push_back(4 * normalizing_error(g.size()) * rstd * (std::abs(g[i]) + mean_g + sizes[i] * mean_gn));
  return errors;
}

/// A layer with its tensors after the forward pass.
struct LayerNormCase {
  explicit LayerNormCase(DType type, DType weight_type = DType::fp32)
      : x(type, rows, columns, test::random_values(type, rows * columns, -2, 3, 1)),
        dy(type, rows, columns, test::random_values(type, rows * columns, -1, 1, 2)),
        gamma(weight_type, 1, columns, test::random_values(weight_type, columns, 0.5f, 1.5f, 3)),
        beta(weight_type, 1, columns, test::random_values(weight_type, columns, -1, 1, 4)),
        y(type, rows, columns),
        dx(type, rows, columns),
        mean(DType::fp32, 1, rows),
        rstd(DType::fp32, 1, rows),
        dgamma(DType::fp32, 1, columns),
        dbeta(DType::fp32, 1, columns),
        workspace("workspace", layernorm_backward_workspace(rows, columns)) {
    layernorm_forward(Execution{}, x, gamma, beta, y, mean.floats(), rstd.floats(), epsilon);
  }
  void backward(const Execution& exec, const Tensor& d_out, const Tensor& d_in,
                bool accumulate = false) const {
    layernorm_backward(exec, x, d_out, gamma, mean.floats(), rstd.floats(), d_in, dgamma, dbeta, accumulate,
                       workspace.data());
    exec.fence();
  }

  test::Matrix x, dy, gamma, beta, y, dx, mean, rstd, dgamma, dbeta;
  Arena workspace;
};

class LayerNorm : public testing::TestWithParam<std::tuple<DType, DType>> {
 protected:
  DType type() const { return std::get<0>(GetParam()); }
  LayerNormCase layer_{std::get<0>(GetParam()), std::get<1>(GetParam())};
};

TEST_P(LayerNorm, ForwardIsTheRoundedDoubleReference) {
  const auto x = layer_.x.values();
  const auto y = layer_.y.values();
  const Values gamma = widened(layer_.gamma.values());
  for (std::size_t row = 0; row < rows; ++row) {
    const Values inputs = widened(x, row * columns, columns);
    const Values expected = reference(inputs, gamma, widened(layer_.beta.values()));
    const Values sizes = normalized_sizes(inputs, layer_.rstd.values()[row]);
    for (std::size_t i = 0; i < columns; ++i) {
      const double arithmetic =
          normalizing_error(columns) * std::abs(gamma[i]) * sizes[i] + test::u * std::abs(expected[i]);
      ASSERT_NEAR(y[row * columns + i], expected[i], test::rounding_error(type(), expected[i]) + arithmetic);
    }
  }
}

TEST_P(LayerNorm, InputGradientIsTheCentralDifference) {
  layer_.backward(Execution{}, layer_.dy, layer_.dx);
  const auto x = layer_.x.values();
  const auto dy = layer_.dy.values();
  const auto dx = layer_.dx.values();
  const Values gamma = widened(layer_.gamma.values());
  const Values beta = widened(layer_.beta.values());
  for (const std::size_t row : {std::size_t{0}, std::size_t{16}, std::size_t{rows - 1}}) {
    const auto loss_at = [&](const Values& inputs) {
      const Values y = reference(inputs, gamma, beta);
      double loss = 0;
      for (std::size_t i = 0; i < columns; ++i) loss += y[i] * dy[row * columns + i];
      return loss;
    };
    Values g;
    for (std::size_t i = 0; i < columns; ++i) g.push_back(gamma[i] * dy[row * columns + i]);
    const double rstd = layer_.rstd.values()[row];
    const Values sizes = normalized_sizes(widened(x, row * columns, columns), rstd);
    const Values errors = input_gradient_error(g, sizes, rstd);
    for (std::size_t i = 0; i < columns; i += 11) {
      const double expected = test::central_difference(loss_at, widened(x, row * columns, columns), i);
      ASSERT_NEAR(dx[row * columns + i], expected,
                  test::rounding_error(type(), expected) + errors[i] + difference_error);
    }
  }
}

TEST_P(LayerNorm, WeightGradientsAreTheColumnSums) {
  layer_.backward(Execution{}, layer_.dy, layer_.dx);
  const auto x = layer_.x.values();
  const auto dy = layer_.dy.values();
  const Values ones(columns, 1.0);
  const Values zeros(columns, 0.0);
  Values dgamma(columns), dgamma_size(columns);
  Values dbeta(columns), dbeta_size(columns);
  for (std::size_t row = 0; row < rows; ++row) {
    const Values inputs = widened(x, row * columns, columns);
    const Values n = reference(inputs, ones, zeros);
    const Values sizes = normalized_sizes(inputs, layer_.rstd.values()[row]);
    for (std::size_t i = 0; i < columns; ++i) {
      dgamma[i] += dy[row * columns + i] * n[i];
      dgamma_size[i] += std::abs(dy[row * columns + i]) * sizes[i];
      dbeta[i] += dy[row * columns + i];
      dbeta_size[i] += std::abs(dy[row * columns + i]);
    }
  }
  const auto dgamma_found = layer_.dgamma.values();
  const auto dbeta_found = layer_.dbeta.values();
  for (std::size_t i = 0; i < columns; ++i) {
    ASSERT_NEAR(dgamma_found[i], dgamma[i],
                test::summing_error(rows, dgamma_size[i]) + normalizing_error(columns) * dgamma_size[i]);
    ASSERT_NEAR(dbeta_found[i], dbeta[i], test::summing_error(rows, dbeta_size[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, LayerNorm,
                         testing::Values(std::tuple(DType::fp32, DType::fp32),
                                         std::tuple(DType::bf16, DType::bf16),
                                         std::tuple(DType::fp16, DType::fp16),
                                         std::tuple(DType::bf16, DType::fp32)),
                         [](const auto& parameter) {
                           return fmt::format("{}_weights_{}", name_of(std::get<0>(parameter.param)),
                                              name_of(std::get<1>(parameter.param)));
                         });

TEST(LayerNormBackward, InPlaceGivesTheSameBits) {
  const LayerNormCase layer(DType::bf16);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto dgamma = layer.dgamma.bytes();
  layer.backward(Execution{}, layer.dy, layer.dy);
  EXPECT_EQ(layer.dy.bytes(), layer.dx.bytes());
  EXPECT_EQ(layer.dgamma.bytes(), dgamma);
}

TEST(LayerNormBackward, HasTheSameBitsForAnyNumberOfThreads) {
  const LayerNormCase layer(DType::fp16);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto dx = layer.dx.bytes();
  const auto dgamma = layer.dgamma.bytes();
  const auto dbeta = layer.dbeta.bytes();
  for (const Execution& exec : test::narrower_executions()) {
    layer.backward(exec, layer.dy, layer.dx);
    EXPECT_EQ(layer.dx.bytes(), dx) << exec.concurrency();
    EXPECT_EQ(layer.dgamma.bytes(), dgamma) << exec.concurrency();
    EXPECT_EQ(layer.dbeta.bytes(), dbeta) << exec.concurrency();
  }
}

TEST(LayerNormBackward, AccumulatesOntoWhatIsThere) {
  const LayerNormCase layer(DType::fp32);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto once = layer.dgamma.values();
  layer.backward(Execution{}, layer.dy, layer.dx, true);
  const auto twice = layer.dgamma.values();
  for (std::size_t i = 0; i < columns; ++i) EXPECT_EQ(twice[i], 2 * once[i]);
}

TEST(LayerNormBackward, AddsTheGradientThatGoesPast) {
  for (const DType type : test::all_types) {
    const LayerNormCase layer(type);
    const test::Matrix past(type, rows, columns, test::random_values(type, rows * columns, -1, 1, 5));
    layer.backward(Execution{}, layer.dy, layer.dx);
    const auto through = layer.dx.values();
    layernorm_backward(Execution{}, layer.x, layer.dy, layer.gamma, layer.mean.floats(), layer.rstd.floats(),
                       past, layer.dgamma, layer.dbeta, false, layer.workspace.data(), past);
    const auto before = test::random_values(type, rows * columns, -1, 1, 5);
    const auto sum = past.values();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double expected = static_cast<double>(through[i]) + before[i];
      ASSERT_NEAR(sum[i], expected,
                  test::rounding_error(type, through[i]) + 1.01 * test::rounding_error(type, expected));
    }
  }
}

TEST(LayerNormForward, WithoutABiasIsOneWithABiasOfZeros) {
  const LayerNormCase layer(DType::bf16);
  test::set_values(layer.beta, std::vector<float>(columns, 0.0f));
  layernorm_forward(Execution{}, layer.x, layer.gamma, layer.beta, layer.y, layer.mean.floats(),
                    layer.rstd.floats(), epsilon);
  layer.backward(Execution{}, layer.dy, layer.dx);
  const auto dgamma = layer.dgamma.bytes();
  const test::Matrix y(DType::bf16, rows, columns);
  const test::Matrix dx(DType::bf16, rows, columns);
  layernorm_forward(Execution{}, layer.x, layer.gamma, {}, y, layer.mean.floats(), layer.rstd.floats(),
                    epsilon);
  layernorm_backward(Execution{}, layer.x, layer.dy, layer.gamma, layer.mean.floats(), layer.rstd.floats(),
                     dx, layer.dgamma, {}, false, layer.workspace.data());
  EXPECT_EQ(y.bytes(), layer.y.bytes());
  EXPECT_EQ(dx.bytes(), layer.dx.bytes());
  EXPECT_EQ(layer.dgamma.bytes(), dgamma);
}

TEST(LayerNormForward, InPlaceGivesTheSameBits) {
  const LayerNormCase layer(DType::bf16);
  layernorm_forward(Execution{}, layer.x, layer.gamma, layer.beta, layer.x, layer.mean.floats(),
                    layer.rstd.floats(), epsilon);
  EXPECT_EQ(layer.x.bytes(), layer.y.bytes());
}

/// By the closed form: dx = rstd (g - mean(g) - n mean(g n)) with g = dy gamma and n = (x - mean) rstd.
TEST(LayerNormWidths, RowsOfAnyWidthMatchTheClosedForm) {
  constexpr std::int64_t few = 19;  // two blocks of rows
  // Lanes of devices hold up to 768 columns, 1024, 2048 (forward only), or none.
  for (const std::int64_t width : {1, 5, 16, 48, 130, 384, 768, 1000, 2048, 6200}) {
    for (const DType type : test::all_types) {
      const auto x = test::random_values(type, few * width, -2, 3, 1);
      const auto dy = test::random_values(type, few * width, -1, 1, 2);
      const auto gamma = test::random_values(type, width, 0.5f, 1.5f, 3);
      const test::Matrix in(type, few, width, x);
      const test::Matrix d_out(type, few, width, dy);
      const test::Matrix scale(type, 1, width, gamma);
      const test::Matrix out(type, few, width);
      const test::Matrix d_in(type, few, width);
      const test::Matrix mean(DType::fp32, 1, few);
      const test::Matrix rstd(DType::fp32, 1, few);
      const test::Matrix d_scale(DType::fp32, 1, width);
      const Arena workspace("workspace", layernorm_backward_workspace(few, width));
      layernorm_forward(Execution{}, in, scale, {}, out, mean.floats(), rstd.floats(), epsilon);
      layernorm_backward(Execution{}, in, d_out, scale, mean.floats(), rstd.floats(), d_in, d_scale, {},
                         false, workspace.data());
      const auto dx = d_in.values();
      const auto n = static_cast<std::size_t>(width);
      Values weight_sums(n);
      Values weight_sizes(n);
      for (std::size_t row = 0; row < few; ++row) {
        const Values ones(n, 1.0);
        const Values normalized = reference(widened(x, row * n, n), ones, Values(n, 0.0));
        const double inverse = rstd.values()[row];
        Values g;
        double mean_g = 0;
        double mean_gn = 0;
        for (std::size_t i = 0; i < n; ++i) {
          g.push_back(static_cast<double>(dy[row * n + i]) * gamma[i]);
          mean_g += g[i] / static_cast<double>(width);
          mean_gn += g[i] * normalized[i] / static_cast<double>(width);
        }
        const Values sizes = normalized_sizes(widened(x, row * n, n), inverse);
        const Values errors = input_gradient_error(g, sizes, inverse);
        for (std::size_t i = 0; i < n; ++i) {
          weight_sums[i] += static_cast<double>(dy[row * n + i]) * normalized[i];
          weight_sizes[i] += std::abs(static_cast<double>(dy[row * n + i])) * sizes[i];
          const double expected = inverse * (g[i] - mean_g - normalized[i] * mean_gn);
          ASSERT_NEAR(dx[row * n + i], expected, test::rounding_error(type, expected) + errors[i])
              << name_of(type) << ", " << width << " columns, row " << row << ", column " << i;
        }
      }
      const auto found = d_scale.values();
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(found[i], weight_sums[i],
                    test::summing_error(few, weight_sizes[i]) + normalizing_error(n) * weight_sizes[i])
            << name_of(type) << ", " << width << " columns, column " << i;
      }
    }
  }
}

}  // namespace mylos::layernorm_test

// Group normalisation against a double reference and its central differences.
#include "mylos/kernels/norm/group_norm.hpp"

#include <gtest/gtest.h>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "kernels/point_norm_reference.hpp"
#include "mylos/base/error.hpp"

namespace mylos::group_norm_test {

constexpr float epsilon = 1e-5f;
constexpr std::int64_t samples = 3;
using Values = std::vector<double>;

struct GroupNormCase {
  GroupNormCase(const GridShape& of, std::int64_t parts, DType type, DType weight_type, float low = -2,
                float high = 3)
      : grid(of),
        groups(parts),
        x(type, samples, grid.columns(), test::random_values(type, samples * grid.columns(), low, high, 1)),
        dy(type, samples, grid.columns(), test::random_values(type, samples * grid.columns(), -1, 1, 2)),
        gamma(weight_type, 1, grid.channels, test::random_values(weight_type, grid.channels, 0.5f, 1.5f, 3)),
        beta(weight_type, 1, grid.channels, test::random_values(weight_type, grid.channels, -1, 1, 4)),
        y(type, samples, grid.columns()),
        dx(type, samples, grid.columns()),
        mean(DType::fp32, samples, groups),
        rstd(DType::fp32, samples, groups),
        dgamma(DType::fp32, 1, grid.channels),
        dbeta(DType::fp32, 1, grid.channels),
        workspace("workspace", group_norm_workspace(grid, groups, samples)) {
    check_group_norm(grid, groups);
    forward(y);
  }
  void forward(const Tensor& to, const Execution& exec = {}) const {
    group_norm_forward(exec, grid, groups, x, gamma, beta, to, mean.floats(), rstd.floats(), epsilon,
                       workspace.data());
    exec.fence();
  }
  void backward(const Tensor& d_in, bool accumulate = false, const Execution& exec = {}) const {
    group_norm_backward(exec, grid, groups, x, dy, gamma, mean.floats(), rstd.floats(), d_in, dgamma, dbeta,
                        accumulate, workspace.data());
    exec.fence();
  }
  /// Returns the offsets of a sample's group in a matrix of x's shape.
  [[nodiscard]] std::vector<std::size_t> elements(std::int64_t sample, std::int64_t group) const {
    const std::int64_t width = grid.channels / groups;
    std::vector<std::size_t> at;
    for (std::int64_t point = 0; point < grid.points(); ++point) {
      for (std::int64_t c = 0; c < width; ++c)
        at.push_back(
            static_cast<std::size_t>((sample * grid.points() + point) * grid.channels + group * width + c));
    }
    return at;
  }
  [[nodiscard]] std::size_t channel(std::size_t element) const {
    return element % static_cast<std::size_t>(grid.channels);
  }
  static Values picked(const std::vector<float>& all, const std::vector<std::size_t>& at) {
    Values values;
    for (const std::size_t i : at) values.push_back(all[i]);
    return values;
  }

  GridShape grid;
  std::int64_t groups;
  test::Matrix x, dy, gamma, beta, y, dx, mean, rstd, dgamma, dbeta;
  Arena workspace;
};

/// As batch normalisation's.
double normalizing_error(const test::NormReference& norm) {
  return test::summing_error(64, 1 + norm.size, 8);
}

using Parameters = std::tuple<GridShape, std::int64_t, DType, DType>;
class GroupNorm : public testing::TestWithParam<Parameters> {
 protected:
  DType type() const { return std::get<2>(GetParam()); }
  GroupNormCase case_{std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()),
                      std::get<3>(GetParam())};
};

TEST_P(GroupNorm, ForwardIsTheRoundedDoubleReference) {
  const auto x = case_.x.values();
  const auto y = case_.y.values();
  const auto gamma = case_.gamma.values();
  const auto beta = case_.beta.values();
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t group = 0; group < case_.groups; ++group) {
      const auto at = case_.elements(sample, group);
      const test::NormReference norm(GroupNormCase::picked(x, at), epsilon);
      for (std::size_t i = 0; i < at.size(); ++i) {
        const std::size_t c = case_.channel(at[i]);
        const double expected = norm.normalized[i] * gamma[c] + beta[c];
        const double n_error = normalizing_error(norm) * (1 + std::abs(norm.normalized[i]));
        ASSERT_NEAR(
            y[at[i]], expected,
            test::rounding_error(type(), expected) + gamma[c] * n_error + 2 * test::u * std::abs(beta[c]));
      }
    }
  }
}

TEST_P(GroupNorm, InputGradientIsTheCentralDifference) {
  case_.backward(case_.dx);
  const auto x = case_.x.values();
  const auto dy = case_.dy.values();
  const auto dx = case_.dx.values();
  const auto gamma = case_.gamma.values();
  for (const std::int64_t sample : {std::int64_t{0}, samples - 1}) {
    const std::int64_t group = (case_.groups - 1) * sample / (samples - 1);
    const auto at = case_.elements(sample, group);
    const auto loss = [&](const Values& values) {
      const test::NormReference norm(values, epsilon);
      double sum = 0;
      for (std::size_t i = 0; i < at.size(); ++i)
        sum += norm.normalized[i] * static_cast<double>(dy[at[i]]) * gamma[case_.channel(at[i])];
      return sum;
    };
    const Values inputs = GroupNormCase::picked(x, at);
    const test::NormReference norm(inputs, epsilon);
    for (std::size_t i = 0; i < at.size(); i += at.size() / 5 + 1) {
      const double expected = test::central_difference(loss, inputs, i);
      // gamma is below 1.5, |dy| and |n| below 1 and 3; differences are off by 1e-8.
      ASSERT_NEAR(dx[at[i]], expected,
                  test::rounding_error(type(), expected) + 24 * normalizing_error(norm) * norm.rstd + 1e-8);
    }
  }
}

TEST_P(GroupNorm, WeightGradientsAreSumsOverThePoints) {
  case_.backward(case_.dx);
  const auto x = case_.x.values();
  const auto dy = case_.dy.values();
  Values dgamma(static_cast<std::size_t>(case_.grid.channels));
  Values dbeta(dgamma.size());
  double size = 0;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t group = 0; group < case_.groups; ++group) {
      const auto at = case_.elements(sample, group);
      const test::NormReference norm(GroupNormCase::picked(x, at), epsilon);
      size = std::max(size, norm.size);
      for (std::size_t i = 0; i < at.size(); ++i) {
        dgamma[case_.channel(at[i])] += dy[at[i]] * norm.normalized[i];
        dbeta[case_.channel(at[i])] += dy[at[i]];
      }
    }
  }
  const auto terms = static_cast<double>(samples * case_.grid.points());
  for (std::size_t c = 0; c < dgamma.size(); ++c) {
    ASSERT_NEAR(case_.dgamma.values()[c], dgamma[c], test::summing_error(192, 3 * (1 + size) * terms));
    ASSERT_NEAR(case_.dbeta.values()[c], dbeta[c], test::summing_error(128, terms));
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, GroupNorm,
                         testing::Values(Parameters{{{1, 6, 7}, 12}, 4, DType::fp32, DType::fp32},
                                         Parameters{{{1, 6, 7}, 12}, 3, DType::fp16, DType::fp16},
                                         Parameters{{{3, 4, 5}, 6}, 1, DType::bf16, DType::fp32},
                                         Parameters{{{3, 4, 5}, 6}, 6, DType::fp32, DType::fp32},
                                         Parameters{{{1, 1, 13}, 301}, 7, DType::bf16, DType::bf16},
                                         Parameters{{{1, 1, 1}, 8}, 2, DType::fp32, DType::fp32},
                                         Parameters{{{1, 50, 40}, 4}, 2, DType::fp16, DType::fp32}));

TEST(GroupNormStatistics, OfHalvesFarFromZeroAreRight) {
  const GroupNormCase far({{1, 20, 19}, 8}, 2, DType::fp16, DType::fp32, 1990, 2047);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t group = 0; group < 2; ++group) {
      const test::NormReference norm(GroupNormCase::picked(far.x.values(), far.elements(sample, group)),
                                     epsilon);
      const auto at = static_cast<std::size_t>(sample * 2 + group);
      EXPECT_NEAR(far.mean.values()[at], norm.mean, 1e-6 * norm.mean);
      EXPECT_NEAR(far.rstd.values()[at], norm.rstd, 1e-5 * norm.rstd);
    }
  }
}

TEST(GroupNorm, HasTheSameBitsForAnyNumberOfThreadsAndInPlace) {
  const GroupNormCase layer({{1, 20, 19}, 8}, 4, DType::bf16, DType::fp32);
  const auto run = [&](const Execution& exec) {
    layer.forward(layer.y, exec);
    layer.backward(layer.dx, false, exec);
    return std::tuple(layer.y.bytes(), layer.dx.bytes(), layer.dgamma.bytes(), layer.rstd.bytes());
  };
  const auto all_threads = run(Execution{});
  for (const Execution& exec : test::narrower_executions())
    EXPECT_EQ(run(exec), all_threads) << exec.concurrency();
  layer.backward(layer.dy);
  EXPECT_EQ(layer.dy.bytes(), std::get<1>(all_threads));
  layer.forward(layer.x);
  EXPECT_EQ(layer.x.bytes(), std::get<0>(all_threads));
}

TEST(GroupNorm, AddsGradientsToWhatIsThere) {
  const GroupNormCase layer({{1, 6, 7}, 12}, 4, DType::fp32, DType::fp32);
  layer.backward(layer.dx);
  const auto once = layer.dgamma.values();
  layer.backward(layer.dx, true);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(layer.dgamma.values()[i], 2 * once[i]);
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_THROW(check_group_norm({{1, 2, 2}, 6}, 4), Error);
  EXPECT_THROW(check_group_norm({{1, 2, 2}, 6}, 0), Error);
}

}  // namespace mylos::group_norm_test

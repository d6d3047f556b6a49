// Batch normalisation against a double reference and its central differences, also with sums over several
// ranks.
#include "mylos/kernels/norm/batch_norm.hpp"

#include <gtest/gtest.h>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "kernels/point_norm_reference.hpp"
#include "support/device_values.hpp"

namespace mylos::batch_norm_test {

constexpr float epsilon = 1e-5f;
constexpr std::int64_t samples = 5;
using Values = std::vector<double>;

/// An array of doubles on the device.
struct Sums {
  explicit Sums(std::int64_t channels)
      : count(batch_norm_sums(channels)), arena("sums", static_cast<std::size_t>(count) * sizeof(double)) {}
  [[nodiscard]] double* data() const { return reinterpret_cast<double*>(arena.data()); }
  [[nodiscard]] Values values() const {
    Values values(static_cast<std::size_t>(count));
    Kokkos::deep_copy(Kokkos::View<double*, Kokkos::HostSpace>(values.data(), values.size()),
                      Kokkos::View<const double*, Memory>(data(), values.size()));
    return values;
  }
  void set(const Values& values) const {
    Kokkos::deep_copy(Kokkos::View<double*, Memory>(data(), values.size()),
                      Kokkos::View<const double*, Kokkos::HostSpace>(values.data(), values.size()));
  }

  std::int64_t count;
  Arena arena;
};

struct BatchNormCase {
  BatchNormCase(const GridShape& of, DType type, DType weight_type, float low, float high)
      : grid(of),
        x(type, samples, grid.columns(), test::random_values(type, samples * grid.columns(), low, high, 1)),
        dy(type, samples, grid.columns(), test::random_values(type, samples * grid.columns(), -1, 1, 2)),
        gamma(weight_type, 1, grid.channels, test::random_values(weight_type, grid.channels, 0.5f, 1.5f, 3)),
        beta(weight_type, 1, grid.channels, test::random_values(weight_type, grid.channels, -1, 1, 4)),
        y(type, samples, grid.columns()),
        dx(type, samples, grid.columns()),
        mean(DType::fp32, 1, grid.channels),
        rstd(DType::fp32, 1, grid.channels),
        dgamma(DType::fp32, 1, grid.channels),
        dbeta(DType::fp32, 1, grid.channels),
        sums(grid.channels),
        workspace("workspace", batch_norm_workspace(grid, samples)) {
    forward();
  }
  void forward(const Execution& exec = {}) const {
    batch_norm_sum(exec, grid, x, sums.data(), nullptr, workspace.data());
    batch_norm_statistics(exec, grid.channels, sums.data(), epsilon, mean.floats(), rstd.floats());
    batch_norm_apply(exec, grid, x, gamma, beta, mean.floats(), rstd.floats(), y);
    exec.fence();
  }
  void backward(bool accumulate = false, const Execution& exec = {}) const {
    batch_norm_sum_gradients(exec, grid, x, dy, mean.floats(), rstd.floats(), sums.data(), dgamma, dbeta,
                             accumulate, workspace.data());
    batch_norm_input_gradient(exec, grid, x, dy, gamma, mean.floats(), rstd.floats(), sums.data(), dx,
                              workspace.data());
    exec.fence();
  }
  /// A channel's elements of a matrix of x's shape.
  [[nodiscard]] Values channel_of(const std::vector<float>& all, std::int64_t channel) const {
    Values values;
    for (auto i = static_cast<std::size_t>(channel); i < all.size();
         i += static_cast<std::size_t>(grid.channels))
      values.push_back(all[i]);
    return values;
  }

  GridShape grid;
  test::Matrix x, dy, gamma, beta, y, dx, mean, rstd, dgamma, dbeta;
  Sums sums;
  Arena workspace;
};

/// The error of n in float relative to 1 + mean |x| rstd, with statistics of blocks of points: Welford's
/// updates of a block, at most 64 here, a square root and a few roundings.
double normalizing_error(const test::NormReference& norm) {
  return test::summing_error(64, 1 + norm.size, 8);
}

using Parameters = std::tuple<GridShape, DType, DType>;
class BatchNorm : public testing::TestWithParam<Parameters> {
 protected:
  DType type() const { return std::get<1>(GetParam()); }
  BatchNormCase case_{std::get<0>(GetParam()), std::get<1>(GetParam()), std::get<2>(GetParam()), -2, 3};
};

TEST_P(BatchNorm, ForwardIsTheRoundedDoubleReference) {
  const auto x = case_.x.values();
  const auto y = case_.y.values();
  for (std::int64_t c = 0; c < case_.grid.channels; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const test::NormReference norm(case_.channel_of(x, c), epsilon);
    const Values found = case_.channel_of(y, c);
    const double gamma = case_.gamma.values()[at];
    const double beta = case_.beta.values()[at];
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double expected = norm.normalized[i] * gamma + beta;
      const double n_error = normalizing_error(norm) * (1 + std::abs(norm.normalized[i]));
      ASSERT_NEAR(found[i], expected,
                  test::rounding_error(type(), expected) + gamma * n_error + 2 * test::u * std::abs(beta));
    }
  }
}

TEST_P(BatchNorm, GradientsAreCentralDifferences) {
  case_.backward();
  const auto x = case_.x.values();
  for (const std::int64_t c : {std::int64_t{0}, case_.grid.channels / 2, case_.grid.channels - 1}) {
    const auto at = static_cast<std::size_t>(c);
    const Values inputs = case_.channel_of(x, c);
    const Values dy = case_.channel_of(case_.dy.values(), c);
    const Values dx = case_.channel_of(case_.dx.values(), c);
    const double gamma = case_.gamma.values()[at];
    const auto loss = [&](const Values& values) {
      const test::NormReference norm(values, epsilon);
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) sum += dy[i] * norm.normalized[i] * gamma;
      return sum;
    };
    const test::NormReference norm(inputs, epsilon);
    const double error = normalizing_error(norm);
    for (std::size_t i = 0; i < inputs.size(); i += inputs.size() / 5 + 1) {
      const double expected = test::central_difference(loss, inputs, i);
      // Three terms of at most |dy| gamma, |dy| and |n| below 1 and 3; differences are off by 1e-8.
      ASSERT_NEAR(dx[i], expected,
                  test::rounding_error(type(), expected) + 16 * error * gamma * norm.rstd + 1e-8);
    }
    double dgamma = 0;
    double dbeta = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      dgamma += dy[i] * norm.normalized[i];
      dbeta += dy[i];
    }
    const auto count = static_cast<double>(dy.size());
    ASSERT_NEAR(case_.dgamma.values()[at], dgamma, 2 * error * count);
    ASSERT_NEAR(case_.dbeta.values()[at], dbeta, test::summing_error(128, count));
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, BatchNorm,
                         testing::Values(Parameters{{{1, 6, 7}, 12}, DType::fp32, DType::fp32},
                                         Parameters{{{1, 6, 7}, 12}, DType::fp16, DType::fp16},
                                         Parameters{{{3, 4, 5}, 5}, DType::bf16, DType::fp32},
                                         Parameters{{{1, 1, 13}, 301}, DType::fp32, DType::fp32},
                                         Parameters{{{1, 1, 13}, 301}, DType::bf16, DType::bf16},
                                         Parameters{{{1, 70, 60}, 3}, DType::fp32, DType::fp32}));

constexpr GridShape pictures{{1, 20, 19}, 8};

TEST(BatchNormStatistics, OfHalvesFarFromZeroAreRight) {
  const BatchNormCase far(pictures, DType::fp16, DType::fp32, 1990, 2047);  // a unit apart
  for (std::int64_t c = 0; c < pictures.channels; ++c) {
    const test::NormReference norm(far.channel_of(far.x.values(), c), epsilon);
    const auto at = static_cast<std::size_t>(c);
    EXPECT_NEAR(far.mean.values()[at], norm.mean, 1e-6 * norm.mean);
    EXPECT_NEAR(far.rstd.values()[at], norm.rstd, 1e-5 * norm.rstd);
  }
}

TEST(BatchNormStatistics, OfFloatsFarFromZeroAreRight) {
  const BatchNormCase far(pictures, DType::fp32, DType::fp32, 10000, 10002);
  for (std::int64_t c = 0; c < pictures.channels; ++c) {
    const test::NormReference norm(far.channel_of(far.x.values(), c), epsilon);
    EXPECT_NEAR(far.rstd.values()[static_cast<std::size_t>(c)], norm.rstd, 1e-3 * norm.rstd);
  }
}

TEST(BatchNormStatistics, OfEqualElementsHaveNoVariance) {
  const BatchNormCase equal(pictures, DType::fp32, DType::fp32, 3, std::nextafter(3.0f, 4.0f));
  for (const float rstd : equal.rstd.values()) EXPECT_NEAR(rstd, 1 / std::sqrt(epsilon), 1);
}

TEST(BatchNormOverRanks, SumsOfPartsAreThoseOfTheWhole) {
  const BatchNormCase whole(pictures, DType::fp32, DType::fp32, -2, 3);
  whole.backward();
  const Values together = whole.sums.values();
  const auto dx = whole.dx.values();
  Values added(together.size());
  Values gradients(together.size());
  const Sums totals(pictures.channels);
  totals.set(Values(together.size()));
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {2, 3}}) {
    const Sums part(pictures.channels);
    const Tensor x = whole.x.tensor().row_range(first, count);
    batch_norm_sum(Execution{}, pictures, x, part.data(), totals.data(), whole.workspace.data());
    const Values of_part = part.values();
    for (std::size_t i = 0; i < added.size(); ++i) added[i] += of_part[i];
    batch_norm_sum_gradients(Execution{}, pictures, x, whole.dy.tensor().row_range(first, count),
                             whole.mean.floats(), whole.rstd.floats(), part.data(), whole.dgamma, {}, false,
                             whole.workspace.data());
    const Values of_gradients = part.values();
    for (std::size_t i = 0; i < added.size(); ++i) gradients[i] += of_gradients[i];
  }
  EXPECT_EQ(added.back(), 5 * 380);
  EXPECT_EQ(totals.values(), added);
  EXPECT_EQ(gradients.back(), 5 * 380);
  const Sums all(pictures.channels);
  all.set(added);
  const test::Matrix mean(DType::fp32, 1, pictures.channels);
  const test::Matrix rstd(DType::fp32, 1, pictures.channels);
  batch_norm_statistics(Execution{}, pictures.channels, all.data(), epsilon, mean.floats(), rstd.floats());
  for (std::size_t c = 0; c < static_cast<std::size_t>(pictures.channels); ++c) {
    EXPECT_NEAR(mean.values()[c], whole.mean.values()[c], 1e-6);
    EXPECT_NEAR(rstd.values()[c], whole.rstd.values()[c], 1e-6);
  }
  all.set(gradients);
  // The rows of the second part, from the sums of all ranks.
  const test::Matrix part(DType::fp32, 3, pictures.columns());
  batch_norm_input_gradient(Execution{}, pictures, whole.x.tensor().row_range(2, 3),
                            whole.dy.tensor().row_range(2, 3), whole.gamma, whole.mean.floats(),
                            whole.rstd.floats(), all.data(), part, whole.workspace.data());
  const auto of_part = part.values();
  const auto start = static_cast<std::size_t>(2 * pictures.columns());
  for (std::size_t i = 0; i < of_part.size(); ++i) ASSERT_NEAR(of_part[i], dx[start + i], 1e-5);
}

TEST(BatchNormRunning, GoesThePartOfMomentumWithTheUnbiasedVariance) {
  const BatchNormCase layer(pictures, DType::fp32, DType::fp32, -2, 3);
  const std::vector<float> start(static_cast<std::size_t>(pictures.channels), 0.5f);
  const test::Matrix mean(DType::fp32, 1, pictures.channels, start);
  const test::Matrix variance(DType::fp32, 1, pictures.channels, start);
  const auto update = [&](std::int32_t apply) {
    const test::DeviceValue<std::int32_t> applies(apply);
    batch_norm_update_running(Execution{}, pictures.channels, layer.sums.data(), 0.1f, mean.floats(),
                              variance.floats(), applies.data());
    Execution{}.fence();
  };
  update(0);
  EXPECT_EQ(mean.values(), start) << "a skipped step moves nothing";
  EXPECT_EQ(variance.values(), start);
  update(1);
  const test::Matrix rstd(DType::fp32, 1, pictures.channels);
  batch_norm_running_rstd(Execution{}, pictures.channels, variance.floats(), epsilon, rstd.floats());
  for (std::int64_t c = 0; c < pictures.channels; ++c) {
    const test::NormReference norm(layer.channel_of(layer.x.values(), c), epsilon);
    const double count = 5 * 380;
    const auto at = static_cast<std::size_t>(c);
    EXPECT_NEAR(mean.values()[at], 0.9 * 0.5 + 0.1 * norm.mean, 1e-6);
    EXPECT_NEAR(variance.values()[at], 0.9 * 0.5 + 0.1 * norm.variance * count / (count - 1), 1e-6);
    EXPECT_NEAR(rstd.values()[at], 1 / std::sqrt(variance.values()[at] + epsilon), 1e-6);
  }
}

TEST(BatchNormBackward, AddsToWhatIsThere) {
  const BatchNormCase layer(pictures, DType::fp32, DType::fp32, -2, 3);
  layer.backward();
  const auto once = layer.dgamma.values();
  const auto beta_once = layer.dbeta.values();
  layer.backward(true);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(layer.dgamma.values()[i], 2 * once[i]);
    EXPECT_EQ(layer.dbeta.values()[i], 2 * beta_once[i]);
  }
}

TEST(BatchNorm, HasTheSameBitsForAnyNumberOfThreadsAndInPlace) {
  const BatchNormCase layer(pictures, DType::bf16, DType::fp32, -2, 3);
  const auto run = [&](const Execution& exec) {
    layer.forward(exec);
    layer.backward(false, exec);
    return std::tuple(layer.y.bytes(), layer.dx.bytes(), layer.dgamma.bytes(), layer.mean.bytes());
  };
  const auto all_threads = run(Execution{});
  for (const Execution& exec : test::narrower_executions())
    EXPECT_EQ(run(exec), all_threads) << exec.concurrency();
  batch_norm_input_gradient(Execution{}, pictures, layer.x, layer.dy, layer.gamma, layer.mean.floats(),
                            layer.rstd.floats(), layer.sums.data(), layer.dy, layer.workspace.data());
  EXPECT_EQ(layer.dy.bytes(), std::get<1>(all_threads));
  batch_norm_apply(Execution{}, pictures, layer.x, layer.gamma, layer.beta, layer.mean.floats(),
                   layer.rstd.floats(), layer.x);
  EXPECT_EQ(layer.x.bytes(), std::get<0>(all_threads));
}

TEST(BatchNormWorkspace, OfAMicroBatchServesARaggedOne) {
  for (std::int64_t count = 2; count < 3000; ++count) {
    ASSERT_LE(batch_norm_workspace({{1, 1, 61}, 3}, count - 1), batch_norm_workspace({{1, 1, 61}, 3}, count));
  }
}

}  // namespace mylos::batch_norm_test

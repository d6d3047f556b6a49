// The likelihood of normal distributions: against the formula in double, and its gradients against central
// differences of that; the bounds for any log variance; means and deviations.
#include "mylos/kernels/pointwise/gaussian_loss.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"

namespace mylos::gaussian_loss_test {

struct Case {
  std::int64_t points = 1;
  std::int64_t channels = 1;
  bool has_weights = false;
};

const Case cases[] = {{1, 1}, {1, 17}, {1, 700}, {30, 1}, {35, 3, true}, {64, 2, true}, {300, 5}};

/// The loss of one sample [points, 2, channels], in double.
double likelihood(const Case& of, const std::vector<double>& p, const std::vector<double>& t,
                  const std::vector<float>& weights) {
  double sum = 0;
  for (std::int64_t point = 0; point < of.points; ++point) {
    for (std::int64_t c = 0; c < of.channels; ++c) {
      const auto mean = static_cast<std::size_t>(point * 2 * of.channels + c);
      const double s = p[mean + static_cast<std::size_t>(of.channels)];
      const double e = t[static_cast<std::size_t>(point * of.channels + c)] - p[mean];
      const double density =
          std::exp(-e * e / (2 * std::exp(s))) / std::sqrt(2 * std::numbers::pi * std::exp(s));
      sum -= (weights.empty() ? 1.0 : weights[static_cast<std::size_t>(point)]) * std::log(density);
    }
  }
  return sum / static_cast<double>(of.points * of.channels);
}

class GaussianLikelihood : public testing::TestWithParam<std::tuple<std::size_t, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, GaussianLikelihood,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(cases)),
                                          testing::ValuesIn(test::all_types)));

TEST_P(GaussianLikelihood, AndItsGradientAreThoseOfTheDoubleReference) {
  const Case& of = cases[std::get<0>(GetParam())];
  const DType type = std::get<1>(GetParam());
  constexpr std::int64_t rows = 9;
  const std::int64_t columns = of.points * of.channels;
  const auto p = test::random_values(type, rows * 2 * columns, -1.5, 1.5, 1);
  const auto t = test::random_values(DType::fp32, rows * columns, -2, 2, 2);
  std::vector<float> weights;
  if (of.has_weights) {
    weights = test::random_values(DType::fp32, of.points, 0, 2, 3);
    weights[1] = 0;
  }
  const test::Matrix predictions(type, rows, 2 * columns, p), targets(DType::fp32, rows, columns, t),
      gradient(type, rows, 2 * columns), row_loss(DType::fp32, 1, rows),
      of_points(DType::fp32, 1, of.points,
                of.has_weights ? weights : std::vector<float>(static_cast<std::size_t>(of.points), 1));
  const FieldPoints field{of.points, of.channels, {of.has_weights ? of_points.floats() : nullptr, nullptr}};
  const test::DeviceValue<float> scale(256.0f);
  const LossArrays arrays{predictions,  targets.floats(), gradient,
                          scale.data(), 1.0f / rows,      row_loss.floats()};
  gaussian_likelihood(Execution{}, field, arrays);
  const auto found = row_loss.values();
  const auto d = gradient.values();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row) * columns;
    const std::vector<double> of_p(p.begin() + 2 * begin, p.begin() + 2 * (begin + columns));
    const std::vector<double> of_t(t.begin() + begin, t.begin() + begin + columns);
    const auto loss = [&](const std::vector<double>& at) { return likelihood(of, at, of_t, weights); };
    // A term has a few roundings of numbers up to 3.5^2 e^1.5 / 2; the sum is in double.
    ASSERT_NEAR(found[row], loss(of_p), 30 * 8 * test::u);
    for (std::size_t c = 0; c<of_p.size(); c += of_p.size()> 200 ? 37 : 1) {
      const double expected = 256.0 / rows * test::central_difference(loss, of_p, c);
      const double arithmetic = 256.0 / rows * 30 * 8 * test::u / static_cast<double>(columns);
      ASSERT_NEAR(d[row * of_p.size() + c], expected,
                  test::rounding_error(type, expected) + arithmetic + 1e-6)
          << "row " << row << ", " << c;
    }
  }
  LossArrays without = arrays;
  without.d_predictions = {};
  without.loss_scale = nullptr;
  gaussian_likelihood(Execution{}, field, without);
  EXPECT_EQ(row_loss.values(), found);
  LossArrays in_place = arrays;
  in_place.d_predictions = predictions;
  gaussian_likelihood(Execution{}, field, in_place);
  EXPECT_EQ(predictions.values(), d) << "in place";
}

TEST_P(GaussianLikelihood, ItsOutputsAreMeansAndDeviations) {
  const Case& of = cases[std::get<0>(GetParam())];
  const DType type = std::get<1>(GetParam());
  constexpr std::int64_t rows = 9;
  const std::int64_t columns = of.points * of.channels;
  const auto p = test::random_values(type, rows * 2 * columns, -40, 40, 1);
  const test::Matrix outputs(type, rows, 2 * columns, p), means(type, rows, columns),
      deviations(DType::fp32, rows, columns);
  const FieldPoints field{of.points, of.channels};
  gaussian_means(Execution{}, field, outputs, means);
  gaussian_deviations(Execution{}, field, outputs, deviations);
  const auto mean = means.values();
  const auto deviation = deviations.values();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const auto channels = static_cast<std::size_t>(of.channels);
    const std::size_t from = i / channels * 2 * channels + i % channels;
    ASSERT_EQ(mean[i], p[from]);
    const double expected = std::exp(static_cast<double>(p[from + channels]) / 2);
    ASSERT_NEAR(deviation[i], expected, 4 * test::u * expected);
  }
}

/// The loss of one target 0 and its gradients.
struct OneTarget {
  OneTarget(float mean, float log_variance) {
    const test::Matrix p(DType::fp32, 1, 2, {mean, log_variance}), t(DType::fp32, 1, 1, {0}),
        d(DType::fp32, 1, 2);
    const test::DeviceValue<float> scale(1.0f), row_loss;
    gaussian_likelihood(Execution{}, {}, {p, t.floats(), d, scale.data(), 1, row_loss.data()});
    loss = row_loss.get();
    of_mean = d.values()[0];
    of_log_variance = d.values()[1];
  }
  float loss, of_mean, of_log_variance;
};

TEST(GaussianLikelihood, HandMadeValues) {
  const float constant = 0.5f * std::log(2 * std::numbers::pi_v<float>);
  EXPECT_FLOAT_EQ(OneTarget(0, 0).loss, constant);
  EXPECT_FLOAT_EQ(OneTarget(3, 0).loss, constant + 4.5f);
  EXPECT_FLOAT_EQ(OneTarget(3, 0).of_mean, 3);
  EXPECT_FLOAT_EQ(OneTarget(3, 0).of_log_variance, 0.5f - 4.5f);
  EXPECT_FLOAT_EQ(OneTarget(0, 2).of_log_variance, 0.5f);
  EXPECT_EQ(OneTarget(0, 2).of_mean, 0);
}

TEST(GaussianLikelihood, ContinuesByItsTangentBelowTheBound) {
  // Errors of 1e-14: the variance e^-64 is 1.6e-28.
  const auto expected = [](double e, double s) {
    const double inverse = s < -64 ? std::exp(64.0) * (1 - (s + 64)) : std::exp(-s);
    return 0.5 * (s + e * e * inverse + std::log(2 * std::numbers::pi));
  };
  for (const float s : {-60.0f, -63.9f, -64.0f, -64.1f, -70.0f, -500.0f, -65504.0f, -1e6f}) {
    for (const float e : {0.0f, 1e-14f, -3e-14f, 1e-3f}) {
      const OneTarget found(e, s);
      const double loss = expected(e, s);
      EXPECT_NEAR(found.loss, loss, 1e-5 * (std::abs(loss) + std::abs(s) + e * e * std::exp(64.0)))
          << s << " " << e;
      const double h = 1e-3;
      const double slope = (expected(e, s + h) - expected(e, s - h)) / (2 * h);
      EXPECT_NEAR(found.of_log_variance, slope, 1e-3 * std::abs(slope) + 1e-6) << s << " " << e;
      const double of_mean = s < -64 ? e * std::exp(64.0) * (1 - (s + 64.0)) : e * std::exp(-double{s});
      EXPECT_NEAR(found.of_mean, of_mean, 1e-4 * std::abs(of_mean)) << s << " " << e;
    }
  }
}

TEST(GaussianLikelihood, IsFiniteForAnyLogVariance) {
  constexpr float largest = std::numeric_limits<float>::max();
  for (const float s : {-largest, -1e30f, -1048577.0f, -65504.0f, -89.0f, 89.0f, 105.0f, 65504.0f, largest}) {
    for (const float e : {0.0f, 1e-3f, 2.0f, -30.0f}) {
      const OneTarget found(e, s);
      EXPECT_TRUE(std::isfinite(found.loss)) << s << " " << e;
      EXPECT_TRUE(std::isfinite(found.of_mean)) << s << " " << e;
      EXPECT_TRUE(std::isfinite(found.of_log_variance)) << s << " " << e;
    }
  }
  EXPECT_FLOAT_EQ(OneTarget(2, 200).of_log_variance, 0.5f);  // e^-200 is 0 in float
  EXPECT_LT(OneTarget(1e-3f, -largest).of_log_variance, 0);  // descent leads back
  EXPECT_TRUE(std::isnan(OneTarget(std::nanf(""), 0).loss));
  EXPECT_TRUE(std::isnan(OneTarget(0, std::nanf("")).loss));
  EXPECT_TRUE(std::isnan(OneTarget(0, std::nanf("")).of_log_variance));
}

}  // namespace mylos::gaussian_loss_test

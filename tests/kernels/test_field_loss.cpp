// Losses of fields: against sums in double over dense matrices of derivatives, and gradients against central
// differences of these in double.
#include "mylos/kernels/pointwise/fields/field_loss.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <functional>
#include <numbers>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"

namespace mylos::field_loss_test {

using Numbers = std::vector<double>;

/// A square matrix [n, n], the derivative along an axis of n points.
struct DenseDerivative {
  std::int64_t n;
  Numbers values;

  double& at(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * n + j)]; }
  [[nodiscard]] double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * n + j)];
  }
};

/// Column j is the derivative of the unit vector j; the spectral one by the discrete Fourier transform.
DenseDerivative dense(Derivative kind, std::int64_t n) {
  DenseDerivative d{n, Numbers(static_cast<std::size_t>(n * n))};
  const auto size = static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (kind == Derivative::spectral) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::complex<double> sum = 0;
        for (std::int64_t k = -((n - 1) / 2); k <= (n - 1) / 2; ++k) {
          const std::complex<double> wave(0, 2 * std::numbers::pi * static_cast<double>(k));
          sum += wave * std::exp(wave * (static_cast<double>(i - j) / size)) / size;
        }
        d.at(i, j) = sum.real();
      }
    } else if (kind == Derivative::one_sided && (i == 0 || i == n - 1)) {
      const double sign = i == 0 ? 1 : -1;
      const double of_end[] = {-11, 18, -9, 2};
      for (std::int64_t k = 0; k < 4; ++k) d.at(i, i == 0 ? k : n - 1 - k) = sign * of_end[k] * size / 6;
    } else {
      d.at(i, (i + 1) % n) += size / 2;
      d.at(i, (i + n - 1) % n) -= size / 2;
    }
  }
  return d;
}

struct Case {
  std::vector<std::int64_t> extents;
  std::int64_t channels = 1;
  bool per_channel = false;
  enum Weights { none, of_points, of_numbers } weights = none;

  [[nodiscard]] bool has_weights() const { return weights != none; }
  /// The weights of a point.
  [[nodiscard]] std::int64_t width() const { return weights == of_numbers ? channels : 1; }
  [[nodiscard]] FieldWeights on_device(const float* values) const {
    return weights == of_numbers ? FieldWeights{nullptr, values} : FieldWeights{values, nullptr};
  }
  [[nodiscard]] std::int64_t points() const {
    std::int64_t product = 1;
    for (const std::int64_t extent : extents) product *= extent;
    return product;
  }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const {
    std::int64_t product = 1;
    for (std::size_t a = axis + 1; a < extents.size(); ++a) product *= extents[a];
    return product;
  }
};

const Case cases[] = {{{16}},
                      {{13}, 2, true},
                      {{8, 9}, 1, false, Case::of_points},
                      {{6, 5}, 3, true, Case::of_points},
                      {{4, 7}, 3, false},
                      {{4, 5, 6}, 2, false, Case::of_numbers},
                      {{5, 4}, 3, true, Case::of_numbers},
                      {{5, 4, 4}, 2, true}};

enum class Norm { l2, h1 };

/// The squared norm of the channel of a sample.
double squared_norm(const Case& of, const Numbers& x, std::int64_t channel, const std::vector<float>& weights,
                    const std::vector<std::vector<float>>& slope_weights,
                    const std::vector<DenseDerivative>& derivatives) {
  double sum = 0;
  const auto at = [&](std::int64_t point) {
    return x[static_cast<std::size_t>(point * of.channels + channel)];
  };
  for (std::int64_t p = 0; p < of.points(); ++p) {
    const auto own = static_cast<std::size_t>(p * of.width() + channel % of.width());
    sum += (weights.empty() ? 1 : weights[own]) * at(p) * at(p);
    for (std::size_t a = 0; a < derivatives.size(); ++a) {
      const std::int64_t i = p / of.stride(a) % of.extents[a];
      double slope = 0;
      for (std::int64_t j = 0; j < of.extents[a]; ++j)
        slope += derivatives[a].at(i, j) * at(p + (j - i) * of.stride(a));
      sum += (weights.empty() ? 1 : slope_weights[a][own]) * slope * slope;
    }
  }
  return sum;
}

double relative_norm(const Case& of, const Numbers& p, const Numbers& t, const std::vector<float>& weights,
                     const std::vector<std::vector<float>>& slope_weights,
                     const std::vector<DenseDerivative>& derivatives) {
  Numbers e(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) e[i] = p[i] - t[i];
  double mean = 0, error = 0, norm = 0;
  for (std::int64_t c = 0; c < of.channels; ++c) {
    const double of_error = squared_norm(of, e, c, weights, slope_weights, derivatives);
    const double of_norm = squared_norm(of, t, c, weights, slope_weights, derivatives);
    mean += std::sqrt(of_error / of_norm) / static_cast<double>(of.channels);
    error += of_error;
    norm += of_norm;
  }
  return of.per_channel ? mean : std::sqrt(error / norm);
}

class RelativeNorm : public testing::TestWithParam<std::tuple<std::size_t, int, DType>> {};
// 0 to 2: derivatives, 3: none.
INSTANTIATE_TEST_SUITE_P(All, RelativeNorm,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(cases)),
                                          testing::Range(0, 4), testing::ValuesIn(test::all_types)));

TEST_P(RelativeNorm, AndItsGradientAreThoseOfTheDoubleReference) {
  const Case& of = cases[std::get<0>(GetParam())];
  const bool has_derivatives = std::get<1>(GetParam()) < 3;
  const auto kind = static_cast<Derivative>(std::get<1>(GetParam()) % 3);
  const DType type = std::get<2>(GetParam());
  const std::int64_t points = of.points(), columns = points * of.channels;
  constexpr std::int64_t rows = 5;

  std::vector<DenseDerivative> derivatives;
  std::vector<std::vector<float>> slope_weights;
  std::vector<float> weights;
  const std::int64_t weighed = points * of.width();
  if (of.has_weights()) {
    weights = test::random_values(DType::fp32, weighed, 0, 2, 3);
    weights[1] = 0;
  }
  FieldDerivatives fast{.derivative = kind};
  std::vector<test::Matrix> on_device;
  on_device.reserve(16);
  for (std::size_t a = 0; has_derivatives && a < of.extents.size(); ++a) {
    const std::int64_t n = of.extents[a];
    derivatives.push_back(dense(kind, n));
    DerivativeAxis& axis = fast.axis[fast.axes++];
    axis = {.extent = n, .stride = of.stride(a)};
    if (of.has_weights()) {
      slope_weights.push_back(test::random_values(DType::fp32, weighed, 0, 2, 4 + static_cast<unsigned>(a)));
      axis.weights =
          of.on_device(on_device.emplace_back(DType::fp32, 1, weighed, slope_weights.back()).floats());
    }
    if (kind != Derivative::spectral) continue;
    std::vector<float> table;
    for (std::int64_t k = 1 - n; k < n; ++k)
      table.push_back(static_cast<float>(derivatives.back().at((k + n) % n, 0)));
    axis.table = on_device.emplace_back(DType::fp32, 1, 2 * n - 1, table).floats();
  }
  FieldPoints field{points, of.channels};
  if (of.has_weights())
    field.weights = of.on_device(on_device.emplace_back(DType::fp32, 1, weighed, weights).floats());

  const auto p = test::random_values(type, rows * columns, -2, 2, 1);
  const auto t = test::random_values(DType::fp32, rows * columns, -2, 2, 2);
  const test::Matrix predictions(type, rows, columns, p), targets(DType::fp32, rows, columns, t),
      gradient(type, rows, columns), row_loss(DType::fp32, 1, rows),
      workspace(DType::fp32, 1, h1_numbers(rows, field, fast.axes));
  const test::DeviceValue<float> scale(256.0f);
  const LossArrays arrays{predictions,  targets.floats(), gradient,
                          scale.data(), 1.0f / rows,      row_loss.floats()};
  const auto run = [&](const LossArrays& with) {
    if (has_derivatives) {
      relative_h1_of_field(Execution{}, field, fast, of.per_channel, with, workspace.floats());
    } else {
      relative_l2_of_field(Execution{}, field, of.per_channel, with);
    }
  };
  run(arrays);
  const auto found = row_loss.values();
  const auto d = gradient.values();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row) * columns;
    const Numbers of_p(p.begin() + begin, p.begin() + begin + columns);
    const Numbers of_t(t.begin() + begin, t.begin() + begin + columns);
    const auto loss = [&](const Numbers& at) {
      return relative_norm(of, at, of_t, weights, slope_weights, derivatives);
    };
    ASSERT_NEAR(found[row], loss(of_p), 2e-6 * loss(of_p));
    for (std::size_t c = 0; c < of_p.size(); ++c) {
      const double expected = 256.0 / rows * test::central_difference(loss, of_p, c);
      ASSERT_NEAR(d[row * of_p.size() + c], expected, test::rounding_error(type, expected) + 1e-4)
          << "row " << row << ", " << c;
    }
  }
  LossArrays without = arrays;
  without.d_predictions = {};
  without.loss_scale = nullptr;
  run(without);
  EXPECT_EQ(row_loss.values(), found);
  if (has_derivatives) return;
  LossArrays in_place = arrays;
  in_place.d_predictions = predictions;
  run(in_place);
  EXPECT_EQ(predictions.values(), d) << "in place";
}

/// A field of one sample, and the loss and gradient of an H1 norm of it.
struct OneField {
  OneField(const std::vector<float>& p, const std::vector<float>& t) {
    const auto points = static_cast<std::int64_t>(p.size());
    const test::Matrix predictions(DType::fp32, 1, points, p), targets(DType::fp32, 1, points, t),
        d(DType::fp32, 1, points), workspace(DType::fp32, 2, points);
    const test::DeviceValue<float> scale(1.0f), row_loss;
    FieldDerivatives derivatives{.axes = 1};
    derivatives.axis[0] = {.extent = points};
    relative_h1_of_field(Execution{}, {points, 1}, derivatives, false,
                         {predictions, targets.floats(), d, scale.data(), 1, row_loss.data()},
                         workspace.floats());
    loss = row_loss.get();
    gradient = d.values();
  }
  float loss;
  std::vector<float> gradient;
};

TEST(RelativeH1, HandMadeValues) {
  // Errors (1, 0, 0, 0) of 4 points: derivatives (0, -2, 0, 2). Targets 1: no derivatives.
  EXPECT_FLOAT_EQ(OneField({2, 1, 1, 1}, {1, 1, 1, 1}).loss, std::sqrt(9.0f / 4.0f));
  EXPECT_FLOAT_EQ(OneField({2, 1, 1, 1}, {1, 1, 1, 1}).gradient[0], 0.5f * 9 / 3);
  EXPECT_FLOAT_EQ(OneField({2, 1, 1, 1}, {1, 1, 1, 1}).gradient[2], 0.5f * -8 / 3);
  EXPECT_EQ(OneField({1, 2, 3}, {1, 2, 3}).loss, 0.0f);
  EXPECT_EQ(OneField({1, 2, 3}, {1, 2, 3}).gradient, (std::vector<float>{0, 0, 0}));
  EXPECT_FLOAT_EQ(OneField({3}, {0}).loss, 3.0f);  // a single point has no derivative
  EXPECT_TRUE(std::isnan(OneField({std::nanf(""), 0, 0}, {1, 1, 1}).loss));
  EXPECT_TRUE(std::isnan(OneField({std::nanf(""), 0, 0}, {1, 1, 1}).gradient[0]));
}

TEST(RelativeL2, OfTargetsThatAreZeroIsTheNormOfTheError) {
  // Two channels at two points: the targets of the first are 0, of the second 3 and 4.
  const test::Matrix predictions(DType::fp32, 1, 4, {3, 3, 4, 5}), targets(DType::fp32, 1, 4, {0, 3, 0, 4}),
      zeros(DType::fp32, 1, 4, {0, 0, 0, 0}), d(DType::fp32, 1, 4);
  const test::DeviceValue<float> scale(1.0f), row_loss;
  const auto loss_of = [&](const test::Matrix& t, bool per_channel) {
    relative_l2_of_field({}, {2, 2}, per_channel,
                         {predictions, t.floats(), d, scale.data(), 1, row_loss.data()});
    return row_loss.get();
  };
  EXPECT_FLOAT_EQ(loss_of(targets, true), (5 + 1.0f / 5) / 2);
  EXPECT_EQ(d.values(), (std::vector<float>{0.5f * 3 / 5, 0, 0.5f * 4 / 5, 0.5f / 5}));
  EXPECT_FLOAT_EQ(loss_of(zeros, false), std::sqrt(59.0f));
}

class WeightedMean : public testing::TestWithParam<std::tuple<DType, bool>> {};
INSTANTIATE_TEST_SUITE_P(All, WeightedMean,
                         testing::Combine(testing::ValuesIn(test::all_types), testing::Bool()));

TEST_P(WeightedMean, IsThatOfTheDoubleReference) {
  constexpr std::int64_t rows = 7, points = 41, channels = 3, columns = points * channels;
  const auto [type, are_of_numbers] = GetParam();
  const std::int64_t per_weight = are_of_numbers ? 1 : channels;
  const auto p = test::random_values(type, rows * columns, -2, 2, 1);
  const auto t = test::random_values(DType::fp32, rows * columns, -2, 2, 2);
  auto w = test::random_values(DType::fp32, columns / per_weight, 0, 2, 3);
  w[0] = 0;
  const test::Matrix targets(DType::fp32, rows, columns, t), weights(DType::fp32, 1, columns / per_weight, w),
      row_loss(DType::fp32, 1, rows);
  const test::DeviceValue<float> scale(64.0f);
  const FieldPoints field{
      points, channels,
      are_of_numbers ? FieldWeights{nullptr, weights.floats()} : FieldWeights{weights.floats(), nullptr}};
  struct Named {
    const char* name;
    std::function<void(const LossArrays&)> run;
    std::function<double(double)> value, slope;
  };
  for (const Named& loss :
       {Named{"square", [&](const LossArrays& of) { weighted_squared_error({}, field, of); },
              [](double e) { return e * e; }, [](double e) { return 2 * e; }},
        Named{"absolute", [&](const LossArrays& of) { weighted_absolute_error({}, field, of); },
              [](double e) { return std::abs(e); }, [](double e) { return e > 0 ? 1.0 : -1.0; }},
        Named{"huber", [&](const LossArrays& of) { weighted_huber_loss({}, field, of, 0.5f); },
              [](double e) { return std::abs(e) < 0.5 ? e * e / 2 : 0.5 * (std::abs(e) - 0.25); },
              [](double e) { return std::clamp(e, -0.5, 0.5); }}}) {
    const test::Matrix predictions(type, rows, columns, p), gradient(type, rows, columns);
    const LossArrays arrays{predictions, targets.floats(), gradient, scale.data(), 0.25f, row_loss.floats()};
    loss.run(arrays);
    const auto d = gradient.values();
    for (std::int64_t row = 0; row < rows; ++row) {
      double sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) {
        const auto i = static_cast<std::size_t>(row * columns + c);
        const double error = static_cast<double>(p[i]) - t[i];
        const double weight = w[static_cast<std::size_t>(c / per_weight)] / static_cast<double>(columns);
        sum += weight * loss.value(error);
        const double expected = 16 * weight * loss.slope(error);
        ASSERT_NEAR(d[i], expected, test::rounding_error(type, expected) + 1e-6) << loss.name << c;
      }
      EXPECT_NEAR(row_loss.values()[static_cast<std::size_t>(row)], sum, 1e-6) << loss.name;
    }
    LossArrays in_place = arrays;
    in_place.d_predictions = predictions;
    loss.run(in_place);
    EXPECT_EQ(predictions.values(), d) << loss.name;
  }
}

}  // namespace mylos::field_loss_test

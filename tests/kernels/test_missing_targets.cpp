// Targets that are NaN and stand for missing numbers: losses and gradients are those of a double reference
// without them, and of complete targets they have the same bits as without the option.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "mylos/kernels/pointwise/gaussian_loss.hpp"
#include "mylos/kernels/pointwise/quantile_loss.hpp"
#include "support/device_views.hpp"

namespace mylos::missing_targets_test {

using Numbers = std::vector<double>;

constexpr std::int64_t height = 5;  // of the grid
constexpr std::int64_t width = 6;

struct Shape {
  std::int64_t points;
  std::int64_t channels;
  bool has_weights;

  [[nodiscard]] std::int64_t columns() const { return points * channels; }
};
constexpr Shape shapes[] = {{1, 37, false}, {height * width, 1, false}, {height * width, 3, true}};

/// A loss, and that of one sample in double. `w`: the weights, 0 of missing numbers.
struct NamedLoss {
  std::string name;
  std::int64_t outputs;  // of a number
  std::function<void(const FieldPoints& field, const LossArrays& arrays, float* workspace)> run;
  std::function<double(const Shape& shape, const Numbers& p, const Numbers& t, const Numbers& w)> of_sample;
  bool needs_grid = false;
};

/// Returns output k of number i, of `outputs` of each.
double output_of(const Shape& shape, const Numbers& p, std::int64_t outputs, std::int64_t i, std::int64_t k) {
  const std::int64_t point = i / shape.channels;
  return p[static_cast<std::size_t>((point * outputs + k) * shape.channels + i % shape.channels)];
}

template <class Term>
auto mean_of(std::int64_t outputs, std::int64_t divisor, const Term& term) {
  return [=](const Shape& shape, const Numbers& p, const Numbers& t, const Numbers& w) {
    double sum = 0;
    for (std::int64_t i = 0; i < shape.columns(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto of = [&](std::int64_t k) { return output_of(shape, p, outputs, i, k); };
      if (w[at] != 0) sum += w[at] * term(of, t[at]);
    }
    return sum / static_cast<double>(shape.columns() * divisor);
  };
}

double square_norm(const Shape& shape, const Numbers& x, const Numbers& w, bool has_slopes) {
  const auto channels = static_cast<std::size_t>(shape.channels);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (w[i] == 0) continue;
    sum += w[i] * x[i] * x[i];
    if (!has_slopes) continue;
    const std::size_t channel = i % channels;
    const auto point = static_cast<std::int64_t>(i / channels);
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return static_cast<std::size_t>((row + height) % height * width + (column + width) % width) * channels +
             channel;
    };
    const std::int64_t row = point / width, column = point % width;
    const auto add = [&](std::size_t after, std::size_t before, double extent) {
      if (w[after] == 0 || w[before] == 0) return;
      const double slope = (x[after] - x[before]) * extent / 2;
      sum += w[i] * slope * slope;
    };
    add(at(row + 1, column), at(row - 1, column), height);
    add(at(row, column + 1), at(row, column - 1), width);
  }
  return sum;
}

auto ratio_of_norms(bool has_slopes) {
  return [=](const Shape& shape, const Numbers& p, const Numbers& t, const Numbers& w) {
    Numbers error(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) error[i] = p[i] - t[i];
    return std::sqrt(square_norm(shape, error, w, has_slopes) / square_norm(shape, t, w, has_slopes));
  };
}

const std::vector<double> levels{0.1, 0.5, 0.8};

/// The weights of the derivatives are those of the numbers: 0 only where a target is missing.
void relative_h1(const FieldPoints& field, const LossArrays& arrays, float* workspace) {
  FieldDerivatives derivatives{.derivative = Derivative::differences, .axes = 2};
  derivatives.axis[0] = {.extent = height, .stride = width, .weights = field.weights};
  derivatives.axis[1] = {.extent = width, .stride = 1, .weights = field.weights};
  relative_h1_of_field(Execution{}, field, derivatives, false, arrays, workspace);
}

const std::vector<NamedLoss>& losses() {
  static const std::vector<NamedLoss> all{
      {"mse", 1,
       [](const auto& field, const auto& arrays, float*) { weighted_squared_error({}, field, arrays); },
       mean_of(1, 1, [](const auto& p, double t) { return std::pow(p(0) - t, 2); })},
      {"l1", 1,
       [](const auto& field, const auto& arrays, float*) { weighted_absolute_error({}, field, arrays); },
       mean_of(1, 1, [](const auto& p, double t) { return std::abs(p(0) - t); })},
      {"huber", 1,
       [](const auto& field, const auto& arrays, float*) { weighted_huber_loss({}, field, arrays, 0.5f); },
       mean_of(1, 1,
               [](const auto& p, double t) {
                 const double size = std::abs(p(0) - t);
                 return size <= 0.5 ? size * size / 2 : 0.5 * (size - 0.25);
               })},
      {"gaussian", 2,
       [](const auto& field, const auto& arrays, float*) { gaussian_likelihood({}, field, arrays); },
       mean_of(2, 1,
               [](const auto& p, double t) {
                 return (p(1) + std::pow(p(0) - t, 2) * std::exp(-p(1)) + std::log(2 * M_PI)) / 2;
               })},
      {"quantile", 3,
       [](const auto& field, const auto& arrays, float*) {
         quantile_loss({}, field, QuantileLevels(levels), arrays);
       },
       mean_of(3, 3,
               [](const auto& p, double t) {
                 double sum = 0;
                 for (std::size_t q = 0; q < levels.size(); ++q) {
                   const double error = t - p(static_cast<std::int64_t>(q));
                   sum += std::max(levels[q] * error, (levels[q] - 1) * error);
                 }
                 return sum;
               })},
      {"relative_l2", 1,
       [](const auto& field, const auto& arrays, float*) { relative_l2_of_field({}, field, false, arrays); },
       ratio_of_norms(false)},
      {"relative_h1", 1, relative_h1, ratio_of_norms(true), true}};
  return all;
}

class MissingTargets : public testing::TestWithParam<std::tuple<std::size_t, std::size_t, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, MissingTargets,
                         testing::Combine(testing::Range(std::size_t{0}, losses().size()),
                                          testing::Range(std::size_t{0}, std::size(shapes)),
                                          testing::ValuesIn(test::all_types)));

TEST_P(MissingTargets, EnterNeitherLossNorGradient) {
  const NamedLoss& of = losses()[std::get<0>(GetParam())];
  const Shape& shape = shapes[std::get<1>(GetParam())];
  const DType type = std::get<2>(GetParam());
  if (of.needs_grid && shape.points == 1) return;
  constexpr std::int64_t rows = 4;
  const std::int64_t columns = shape.columns();
  const std::int64_t of_predictions = columns * of.outputs;
  const auto p = test::random_values(type, rows * of_predictions, -2, 2, 1);
  const std::vector<float> complete = test::random_values(DType::fp32, rows * columns, -2, 2, 2);
  const std::vector<float> chance = test::random_values(DType::fp32, rows * columns, 0, 1, 3);
  std::vector<float> t = complete;
  for (std::size_t i = 0; i < t.size(); ++i)
    if (chance[i] < 0.3f && i >= static_cast<std::size_t>(columns))
      t[i] = std::numeric_limits<float>::quiet_NaN();  // the first sample is complete
  std::vector<float> weights(static_cast<std::size_t>(columns), 1.0f);
  if (shape.has_weights) weights = test::random_values(DType::fp32, columns, 0.5f, 1.5f, 4);
  const test::Matrix weights_on_device(DType::fp32, 1, columns, weights);

  const test::DeviceValue<float> scale(256.0f);
  const test::Matrix workspace(DType::fp32, 1, rows * columns * 3);
  struct Result {
    std::vector<float> loss, gradient;
  };
  const auto run = [&](const std::vector<float>& values, bool skips_missing) {
    FieldPoints field{shape.points, shape.channels, {.skips_missing = skips_missing}};
    if (shape.has_weights) field.weights.of_numbers = weights_on_device.floats();
    const test::Matrix predictions(type, rows, of_predictions, p),
        targets(DType::fp32, rows, columns, values), gradient(type, rows, of_predictions),
        row_loss(DType::fp32, 1, rows);
    of.run(field, {predictions, targets.floats(), gradient, scale.data(), 1.0f / rows, row_loss.floats()},
           workspace.floats());
    return Result{row_loss.values(), gradient.values()};
  };

  const Result without = run(complete, false), with = run(complete, true);
  EXPECT_EQ(with.loss, without.loss);
  EXPECT_EQ(with.gradient, without.gradient);
  EXPECT_TRUE(std::isnan(run(t, false).loss.back())) << "NaN is an error where no target may be missing";

  const Result found = run(t, true);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = static_cast<std::ptrdiff_t>(row * of_predictions);
    const Numbers of_p(p.begin() + first, p.begin() + first + of_predictions);
    Numbers of_t, w;
    for (std::int64_t i = 0; i < columns; ++i) {
      const float target = t[static_cast<std::size_t>(row * columns + i)];
      of_t.push_back(std::isnan(target) ? 0 : static_cast<double>(target));
      w.push_back(std::isnan(target) ? 0 : static_cast<double>(weights[static_cast<std::size_t>(i)]));
    }
    const auto loss = [&](const Numbers& at) { return of.of_sample(shape, at, of_t, w); };
    ASSERT_NEAR(found.loss[static_cast<std::size_t>(row)], loss(of_p), 3e-6 * std::abs(loss(of_p)) + 1e-6);
    for (std::int64_t i = 0; i < columns; ++i) {
      for (std::int64_t k = 0; k < of.outputs; ++k) {
        const auto c = static_cast<std::size_t>((i / shape.channels * of.outputs + k) * shape.channels +
                                                i % shape.channels);
        const double d = found.gradient[static_cast<std::size_t>(first) + c];
        if (w[static_cast<std::size_t>(i)] == 0) {
          ASSERT_EQ(d, 0) << of.name << ", row " << row << ", " << c;
          continue;
        }
        const double expected = 256.0 / rows * test::central_difference(loss, of_p, c);
        ASSERT_NEAR(d, expected, test::rounding_error(type, expected) + 2e-4)
            << of.name << ", row " << row << ", " << c;
      }
    }
  }
}

TEST(MissingTargets, SamplesWithoutAnyHaveTheLossAndGradientZero) {
  for (const NamedLoss& of : losses()) {
    const Shape& shape = shapes[1];
    const std::int64_t columns = shape.columns();
    const test::Matrix predictions(DType::fp32, 1, columns * of.outputs,
                                   test::random_values(DType::fp32, columns * of.outputs, -2, 2, 1)),
        targets(
            DType::fp32, 1, columns,
            std::vector<float>(static_cast<std::size_t>(columns), std::numeric_limits<float>::quiet_NaN())),
        gradient(DType::fp32, 1, columns * of.outputs), workspace(DType::fp32, 1, columns * 3);
    const test::DeviceValue<float> scale(1.0f), row_loss;
    of.run({shape.points, shape.channels, {.skips_missing = true}},
           {predictions, targets.floats(), gradient, scale.data(), 1, row_loss.data()}, workspace.floats());
    EXPECT_EQ(row_loss.get(), 0) << of.name;
    for (const float d : gradient.values()) ASSERT_EQ(d, 0) << of.name;
  }
}

}  // namespace mylos::missing_targets_test

// The pinball loss of quantiles: against the formula in double, and its gradients against central differences
// of that, in every layout of points, levels and channels; the quantiles of a level.
#include "mylos/kernels/pointwise/quantile_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"

namespace mylos::quantile_loss_test {

struct Case {
  std::int64_t points = 1;
  std::int64_t channels = 1;
  std::vector<double> levels = {0.05, 0.5, 0.95};
  bool has_weights = false;

  [[nodiscard]] std::int64_t targets() const { return points * channels; }
  [[nodiscard]] std::int64_t outputs() const { return targets() * static_cast<std::int64_t>(levels.size()); }
  /// Returns the index of an output.
  [[nodiscard]] std::size_t at(std::int64_t point, std::size_t level, std::int64_t channel) const {
    const auto number = point * static_cast<std::int64_t>(levels.size()) + static_cast<std::int64_t>(level);
    return static_cast<std::size_t>(number * channels + channel);
  }
};

const Case cases[] = {{1, 1},
                      {1, 17, {0.5}},
                      {1, 500},
                      {30, 1, {0.1, 0.2, 0.7, 0.8, 0.99}},
                      {35, 3, {0.25, 0.75}, true},
                      {64, 2, {0.05, 0.5, 0.95}, true},
                      {300, 5}};

double pinball(const Case& of, const std::vector<double>& p, const std::vector<double>& t,
               const std::vector<float>& weights) {
  double sum = 0;
  for (std::int64_t point = 0; point < of.points; ++point) {
    for (std::size_t level = 0; level < of.levels.size(); ++level) {
      for (std::int64_t c = 0; c < of.channels; ++c) {
        const double e = t[static_cast<std::size_t>(point * of.channels + c)] - p[of.at(point, level, c)];
        sum += (weights.empty() ? 1.0 : weights[static_cast<std::size_t>(point)]) *
               std::max(of.levels[level] * e, (of.levels[level] - 1) * e);
      }
    }
  }
  return sum / static_cast<double>(of.outputs());
}

class QuantileLoss : public testing::TestWithParam<std::tuple<std::size_t, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, QuantileLoss,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(cases)),
                                          testing::ValuesIn(test::all_types)));

TEST_P(QuantileLoss, AndItsGradientAreThoseOfTheDoubleReference) {
  const Case& of = cases[std::get<0>(GetParam())];
  const DType type = std::get<1>(GetParam());
  constexpr std::int64_t rows = 9;
  const auto p = test::random_values(type, rows * of.outputs(), -1.5, 1.5, 1);
  const auto t = test::random_values(DType::fp32, rows * of.targets(), -2, 2, 2);
  std::vector<float> weights;
  if (of.has_weights) {
    weights = test::random_values(DType::fp32, of.points, 0, 2, 3);
    weights[1] = 0;
  }
  const test::Matrix predictions(type, rows, of.outputs(), p), targets(DType::fp32, rows, of.targets(), t),
      gradient(type, rows, of.outputs()), row_loss(DType::fp32, 1, rows),
      of_points(DType::fp32, 1, of.points,
                of.has_weights ? weights : std::vector<float>(static_cast<std::size_t>(of.points), 1));
  const FieldPoints field{of.points, of.channels, {of.has_weights ? of_points.floats() : nullptr, nullptr}};
  const test::DeviceValue<float> scale(256.0f);
  const LossArrays arrays{predictions,  targets.floats(), gradient,
                          scale.data(), 1.0f / rows,      row_loss.floats()};
  const QuantileLevels levels(of.levels);
  quantile_loss(Execution{}, field, levels, arrays);
  const auto found = row_loss.values();
  const auto d = gradient.values();
  for (std::size_t row = 0; row < rows; ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row);
    const std::vector<double> of_p(p.begin() + begin * of.outputs(), p.begin() + (begin + 1) * of.outputs());
    const std::vector<double> of_t(t.begin() + begin * of.targets(), t.begin() + (begin + 1) * of.targets());
    const auto loss = [&](const std::vector<double>& at) { return pinball(of, at, of_t, weights); };
    // A term has three roundings of numbers up to 3.5 x 2; the sum is in double.
    ASSERT_NEAR(found[row], loss(of_p), 30 * test::u);
    for (std::size_t c = 0; c<of_p.size(); c += of_p.size()> 200 ? 37 : 1) {
      const double expected = 256.0 / rows * test::central_difference(loss, of_p, c);
      const double arithmetic = 256.0 / rows * 10 * test::u / static_cast<double>(of.outputs());
      ASSERT_NEAR(d[row * of_p.size() + c], expected,
                  test::rounding_error(type, expected) + arithmetic + 1e-6)
          << "row " << row << ", " << c;
    }
  }
  LossArrays without = arrays;
  without.d_predictions = {};
  without.loss_scale = nullptr;
  quantile_loss(Execution{}, field, levels, without);
  EXPECT_EQ(row_loss.values(), found);
  LossArrays in_place = arrays;
  in_place.d_predictions = predictions;
  quantile_loss(Execution{}, field, levels, in_place);
  EXPECT_EQ(predictions.values(), d) << "in place";
}

TEST_P(QuantileLoss, ItsOutputsAreThoseOfALevel) {
  const Case& of = cases[std::get<0>(GetParam())];
  const DType type = std::get<1>(GetParam());
  constexpr std::int64_t rows = 3;
  const auto p = test::random_values(type, rows * of.outputs(), -40, 40, 1);
  const test::Matrix outputs(type, rows, of.outputs(), p);
  for (const DType to : {type, DType::fp32}) {
    const test::Matrix chosen(to, rows, of.targets());
    for (std::size_t level = 0; level < of.levels.size(); ++level) {
      quantiles_at(Execution{}, {of.points, of.channels}, static_cast<std::int64_t>(of.levels.size()),
                   static_cast<std::int64_t>(level), outputs, chosen);
      const auto found = chosen.values();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto point = static_cast<std::int64_t>(i) / of.channels;  // of all samples
        ASSERT_EQ(found[i], p[of.at(point, level, static_cast<std::int64_t>(i) % of.channels)]);
      }
    }
  }
}

TEST(QuantileLoss, HandMadeValues) {
  const test::Matrix p(DType::fp32, 1, 3, {1, 2, 4}), t(DType::fp32, 1, 1, {2}), d(DType::fp32, 1, 3);
  const test::DeviceValue<float> scale(3.0f), row_loss;
  const QuantileLevels levels(std::vector<double>{0.25, 0.5, 0.75});
  quantile_loss(Execution{}, {}, levels, {p, t.floats(), d, scale.data(), 1, row_loss.data()});
  EXPECT_FLOAT_EQ(row_loss.get(), (0.25f * 1 + 0.25f * 2) / 3);
  EXPECT_EQ(d.values(), (std::vector<float>{-0.25f, 0, 0.25f}));
  const test::Matrix nan(DType::fp32, 1, 3, {std::nanf(""), 0, 0});
  quantile_loss(Execution{}, {}, levels, {nan, t.floats(), d, scale.data(), 1, row_loss.data()});
  EXPECT_TRUE(std::isnan(row_loss.get()));
  EXPECT_TRUE(std::isnan(d.values()[0]));
}

}  // namespace mylos::quantile_loss_test

// What losses of fields read: weights of points and of derivatives, tables of the spectral derivative, and
// the losses for which a network's outputs are not suited.
#include "mylos/model/losses/field_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/losses/make_loss.hpp"
#include "support/refusal.hpp"

namespace mylos::field_norm_test {

std::shared_ptr<const PointWeights> weights_of(std::vector<std::int64_t> extents, std::vector<float> values) {
  return std::make_shared<PointWeights>(
      PointWeights{"areas.h5: array /area", std::move(extents), std::move(values)});
}

OutputField plane(std::int64_t height, std::int64_t width, Derivative derivative = Derivative::differences,
                  std::shared_ptr<const PointWeights> weights = {}) {
  return {.grid = {.extent = {1, height, width}, .channels = 2},
          .axes = 2,
          .derivative = derivative,
          .weights = std::move(weights)};
}

std::vector<float> weights_along(const FieldNorm& norm, int axis) {
  const float* const first = norm.derivatives(norm.constants().data()).axis[axis].weights.of_points;
  return {first, first + norm.grid().points()};
}

TEST(FieldNorm, WithoutWeightsNothingIsRead) {
  const FieldNorm norm(plane(4, 5), true);
  EXPECT_TRUE(norm.constants().empty());
  EXPECT_EQ(norm.points(nullptr).weights.of_points, nullptr);
  const FieldDerivatives derivatives = norm.derivatives(nullptr);
  ASSERT_EQ(derivatives.axes, 2);
  EXPECT_EQ(derivatives.axis[0].extent, 4);
  EXPECT_EQ(derivatives.axis[0].stride, 5);
  EXPECT_EQ(derivatives.axis[1].extent, 5);
  EXPECT_EQ(derivatives.axis[1].stride, 1);
  EXPECT_EQ(derivatives.axis[1].weights.of_points, nullptr);
}

TEST(FieldNorm, DerivativesThatReadPointsOfWeight0DoNotCount) {
  const auto weights = weights_of({5}, {1, 0, 2, 1, 1});
  OutputField line{.grid = {.extent = {1, 1, 5}}, .weights = weights};
  EXPECT_EQ(weights_along(FieldNorm(line, true), 0), (std::vector<float>{0, 0, 0, 1, 1}));
  line.derivative = Derivative::one_sided;  // the ends read 0 to 3 and 1 to 4
  EXPECT_EQ(weights_along(FieldNorm(line, true), 0), (std::vector<float>{0, 0, 0, 1, 0}));
  const auto of_plane = weights_of({1, 3, 2}, {1, 1, 0, 1, 1, 1});  // an extent of 1 is no axis
  const FieldNorm norm(plane(3, 2, Derivative::differences, of_plane), true);
  EXPECT_EQ(weights_along(norm, 0), (std::vector<float>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(weights_along(norm, 1), (std::vector<float>{1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(norm.points(norm.constants().data()).weights.of_points[2], 0.0f);
}

TEST(FieldNorm, DerivativesReadTheMaskOfTheirChannel) {
  PointWeights by_channel{"mask", {1, 4}, {1, 1, 1, 0, 1, 1, 2, 1}, 2};
  const FieldNorm norm(plane(1, 4, Derivative::differences, std::make_shared<PointWeights>(by_channel)),
                       true);
  const float* const weights = norm.derivatives(norm.constants().data()).axis[1].weights.of_numbers;
  ASSERT_NE(weights, nullptr);
  EXPECT_EQ(std::vector<float>(weights, weights + 8), (std::vector<float>{1, 0, 1, 0, 1, 0, 2, 1}));
}

TEST(FieldNorm, SpectralDerivativesOfWavesAreExact) {
  for (const std::int64_t n : {1, 2, 5, 8, 31}) {
    const std::vector<double> c = spectral_coefficients(n);
    for (std::int64_t k = 0; 2 * k < n; ++k) {
      const double wave = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j)
          sum += c[static_cast<std::size_t>((i - j + n) % n)] * std::sin(wave * static_cast<double>(j));
        EXPECT_NEAR(sum, wave * static_cast<double>(n) * std::cos(wave * static_cast<double>(i)), 1e-10) << n;
      }
    }
  }
}

TEST(FieldNorm, RefusesWhatItCannotCompute) {
  const auto refuses = [](const OutputField& field, ErrorId id, const char* part) {
    EXPECT_TRUE(test::refuses(id, {part}, [&] { FieldNorm(field, true); }));
  };
  refuses(plane(3, 2, Derivative::differences, weights_of({2, 3}, {1, 1, 1, 1, 1, 1})), errors::data_mismatch,
          "areas.h5: array /area has the shape [2, 3], but the network's outputs lie on [3, 2] points");
  refuses(plane(8, 3, Derivative::one_sided), errors::keys_conflict,
          "and an axis of the network's outputs has 3");
  refuses(plane(2, 2, Derivative::spectral, weights_of({2, 2}, {1, 0, 1, 2})), errors::keys_conflict,
          "areas.h5: array /area has weights of 0");
  ModelOptions model;
  model.loss = losses::RelativeH1{};
  EXPECT_TRUE(test::refuses(errors::keys_conflict,
                            {"the outputs are a vector of 12 numbers; use \"relative_l2\""},
                            [&] { (void)make_loss(model, {.numbers = 12}); }));
}

}  // namespace mylos::field_norm_test

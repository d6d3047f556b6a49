// Spectra, errors and pictures of fields, against sums written out.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>

#include "model/guarded_block.hpp"
#include "mylos/inference/rollout/field_errors.hpp"
#include "mylos/inference/rollout/field_picture.hpp"
#include "mylos/inference/rollout/rollout_windows.hpp"
#include "mylos/inference/rollout/spectrum.hpp"

namespace mylos::field_measures_test {

std::int64_t points_of(const std::vector<std::int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// The energy by wavenumber from the definition: a sum over all points for each mode.
std::vector<double> plain_spectrum(const std::vector<std::int64_t>& extents, const std::vector<float>& field,
                                   std::size_t wavenumbers) {
  std::vector<double> energy(wavenumbers);
  const std::int64_t points = points_of(extents);
  const auto index_of = [&](std::int64_t position, std::size_t axis) {
    for (std::size_t i = extents.size() - 1; i > axis; --i) position /= extents[i];
    return position % extents[axis];
  };
  for (std::int64_t mode = 0; mode < points; ++mode) {
    std::complex<double> sum = 0;
    double square = 0;
    for (std::int64_t point = 0; point < points; ++point) {
      double turns = 0;
      for (std::size_t axis = 0; axis < extents.size(); ++axis)
        turns += static_cast<double>(index_of(mode, axis) * index_of(point, axis)) /
                 static_cast<double>(extents[axis]);
      sum += std::polar(1.0, -2 * std::numbers::pi * turns) *
             static_cast<double>(field[static_cast<std::size_t>(point)]);
    }
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const std::int64_t index = index_of(mode, axis);
      const auto periods = static_cast<double>(index <= extents[axis] / 2 ? index : index - extents[axis]);
      square += periods * periods;
    }
    energy[static_cast<std::size_t>(std::lround(std::sqrt(square)))] +=
        std::norm(sum) / static_cast<double>(points * points);
  }
  return energy;
}

TEST(FieldSpectrum, IsThatOfItsDefinitionOnAnyGrid) {
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{1}, {7}, {12}, {64}, {31}, {5, 6}, {8, 8}, {1, 9}, {4, 3, 5}}) {
    const std::vector<float> field = test::drawn_values(points_of(extents), 3);
    FieldSpectrum spectrum(extents);
    std::vector<double> found(static_cast<std::size_t>(spectrum.wavenumbers()));
    spectrum.add(field, 1, 0, found);
    const std::vector<double> expected = plain_spectrum(extents, field, found.size());
    double sum = 0;
    double square = 0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_NEAR(found[k], expected[k], 1e-13);
      sum += found[k];
    }
    for (const float value : field) square += static_cast<double>(value) * static_cast<double>(value);
    EXPECT_NEAR(sum, square / static_cast<double>(field.size()), 1e-12);
  }
}

TEST(FieldSpectrum, OfAWaveIsAtItsWavenumber) {
  const std::vector<std::int64_t> extents{10, 12};
  std::vector<float> field;
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 12; ++x) {
      field.push_back(1);  // of another channel
      field.push_back(static_cast<float>(2 * std::cos(2 * std::numbers::pi * (3 * y / 10.0 + 4 * x / 12.0))));
    }
  FieldSpectrum spectrum(extents);
  std::vector<double> energy(static_cast<std::size_t>(spectrum.wavenumbers()));
  spectrum.add(field, 2, 1, energy);
  for (std::size_t k = 0; k < energy.size(); ++k) EXPECT_NEAR(energy[k], k == 5 ? 2 : 0, 1e-6) << k;
}

TEST(FieldErrors, AreThoseOfTheirDefinitions) {
  // Points by channels. The first channel is off by 1, 1 and -2; the second is twice the truth.
  const std::vector<float> truth{1, 1, 2, 3, 3, -1};
  const std::vector<float> predicted{2, 2, 3, 6, 1, -2};
  const FieldErrors errors = field_errors(predicted, truth, 2);
  const double first = std::sqrt(6.0 / 14);
  EXPECT_NEAR(errors.nrmse, (first + 1) / 2, 1e-12);
  EXPECT_NEAR(errors.relative_l2, std::sqrt((6.0 + 11) / (14 + 11)), 1e-12);
  EXPECT_NEAR(errors.correlation, (-0.5 + 1) / 2, 1e-12);
  EXPECT_NEAR(field_energy(truth, 2), 25.0 / 3, 1e-12);
}

TEST(FieldErrors, WeighThePointsAsManyOfThemWould) {
  const std::vector<float> truth{1, 1, 2, 3, 3, -1};
  const std::vector<float> predicted{2, 2, 3, 6, 1, -2};
  // The second point thrice, the third not at all: there, nothing matters.
  const std::vector<float> many_truths{1, 1, 2, 3, 2, 3, 2, 3};
  const std::vector<float> many_predicted{2, 2, 3, 6, 3, 6, 3, 6};
  const std::vector<float> weights{0.5f, 1.5f, 0};
  std::vector<float> broken = predicted;
  broken[4] = std::numeric_limits<float>::quiet_NaN();
  const FieldErrors expected = field_errors(many_predicted, many_truths, 2);
  for (const auto& given : {predicted, broken}) {
    const FieldErrors errors = field_errors(given, truth, 2, MeasureWeights(weights));
    EXPECT_NEAR(errors.relative_l2, expected.relative_l2, 1e-12);
    EXPECT_NEAR(errors.nrmse, expected.nrmse, 1e-12);
    EXPECT_NEAR(errors.correlation, expected.correlation, 1e-12);
    EXPECT_NEAR(field_energy(given, 2, MeasureWeights(weights)), field_energy(many_predicted, 2), 1e-12);
  }
  EXPECT_TRUE(std::isnan(field_errors(broken, truth, 2).nrmse));
}

TEST(FieldErrors, LeaveOutWhatIsUndefinedAndSayWhatIsNotFinite) {
  const std::vector<float> truth{0, 1, 0, 2};
  const std::vector<float> predicted{5, 1, 6, 2};
  const FieldErrors errors = field_errors(predicted, truth, 2);
  EXPECT_EQ(errors.nrmse, 0);  // of the second channel alone
  EXPECT_EQ(errors.correlation, 1);
  const std::vector<float> broken{0, 1, std::numeric_limits<float>::infinity(), 2};
  EXPECT_TRUE(std::isnan(field_errors(broken, truth, 2).nrmse));
  EXPECT_FALSE(std::isfinite(field_energy(broken, 2)));
  const std::vector<float> nothing(4, 0.0f);
  EXPECT_TRUE(std::isnan(field_errors(truth, nothing, 2).relative_l2));
}

TEST(FieldErrors, HaveNoCorrelationWithAConstantButForItsRounding) {
  constexpr std::size_t points = 1000;
  std::vector<float> varies(points), constant(points, 0.1f), rounded(points, 0.1f);
  for (std::size_t i = 0; i < points; ++i) {
    varies[i] = std::sin(static_cast<float>(i));
    if (i % 2 == 0) rounded[i] = std::nextafter(0.1f, 1.0f);
  }
  for (const auto& one : {constant, rounded}) {
    EXPECT_TRUE(std::isnan(field_errors(one, varies, 1).correlation));
    EXPECT_TRUE(std::isnan(field_errors(varies, one, 1).correlation));
    EXPECT_GT(field_errors(one, varies, 1).nrmse, 0);
  }
  for (std::size_t i = 0; i < points; ++i) rounded[i] = 1 + 1e-5f * varies[i];  // a hundred roundings
  EXPECT_NEAR(field_errors(rounded, varies, 1).correlation, 1, 1e-4);
}

/// Levels whose values say what they are: 100 member + level, + 0.1 for each channel and 0.01 for each point.
class NumberedLevels final : public Trajectories {
 public:
  explicit NumberedLevels(LevelLayout layout) : layout_(std::move(layout)) {}
  [[nodiscard]] const LevelLayout& layout() const override { return layout_; }
  [[nodiscard]] std::int64_t members() const override { return 3; }
  void read_level(std::int64_t member, std::int64_t level, std::span<float> values) const override {
    const std::int64_t width = layout_.channels + layout_.constants;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i)
      values[static_cast<std::size_t>(i)] = value(member, level, i / width, i % width);
  }
  [[nodiscard]] bool has_truth(std::int64_t, std::int64_t) const override { return false; }
  void read_truth(std::int64_t, std::int64_t, std::span<float>) const override {}

  [[nodiscard]] static float value(std::int64_t member, std::int64_t level, std::int64_t point,
                                   std::int64_t channel) {
    return static_cast<float>(100 * member + level) + 0.1f * static_cast<float>(channel) +
           0.01f * static_cast<float>(point);
  }

 private:
  LevelLayout layout_;
};

TEST(RolloutWindows, ShiftLevelsFeedOutputsBackAndReadForcings) {
  // Two levels of the channels u, f and v; the network predicts v and u. One constant.
  LevelLayout layout{.extents = {2}, .history = 2, .channels = 3, .constants = 1, .state = {2, 0}};
  using Adds = std::vector<std::uint8_t>;
  for (const auto& [adds_newest, ahead] :
       {std::pair{Adds(), 1}, {Adds{1, 1}, 1}, {Adds{1, 1}, 3}, {Adds{0, 1}, 1}}) {
    layout.adds_newest = adds_newest;
    layout.ahead = ahead;
    const NumberedLevels levels(layout);
    RolloutWindows windows(levels.layout(), 2);
    windows.start(levels, 1, 2);
    const auto value = NumberedLevels::value;
    std::vector<float> expected;
    for (const std::int64_t member : {1, 2})
      for (const std::int64_t point : {0, 1})
        for (const auto& [level, channel] :
             std::vector<std::pair<int, int>>{{-1, 0}, {-1, 1}, {-1, 2}, {0, 0}, {0, 1}, {0, 2}, {0, 3}})
          expected.push_back(value(member, level, point, channel));
    EXPECT_EQ(std::vector<float>(windows.inputs().begin(), windows.inputs().end()), expected);
    const std::vector<float> outputs{-1, -2, -3, -4, -5, -6, -7, -8};  // v and u of each point
    windows.advance(levels, 1, outputs, false);
    expected.clear();
    std::size_t output = 0;
    for (const std::int64_t member : {1, 2})
      for (const std::int64_t point : {0, 1}) {
        for (const int channel : {0, 1, 2}) expected.push_back(value(member, 0, point, channel));
        const float v = outputs[output] + (layout.is_difference(0) ? value(member, 0, point, 2) : 0);
        const float u = outputs[output + 1] + (layout.is_difference(1) ? value(member, 0, point, 0) : 0);
        output += 2;
        expected.insert(expected.end(), {u, value(member, ahead, point, 1), v, value(member, 0, point, 3)});
      }
    EXPECT_EQ(std::vector<float>(windows.inputs().begin(), windows.inputs().end()), expected);
    std::vector<float> state(4);
    windows.state(0, 1, {}, state);
    EXPECT_EQ(state, (std::vector<float>{expected[19], expected[17], expected[26], expected[24]}));
  }
}

TEST(RolloutWindows, BeginEqualAndChangeTheStateAtAllLevelsOfOneForecast) {
  const LevelLayout layout{.extents = {2}, .history = 2, .channels = 3, .constants = 1, .state = {2, 0}};
  const NumberedLevels levels(layout);
  RolloutWindows alone(levels.layout(), 2), windows(levels.layout(), 2, 2);
  alone.start(levels, 1, 2);
  windows.start(levels, 1, 2);
  const std::size_t size = alone.inputs().size() / 2;  // of a window
  std::vector<float> expected(alone.inputs().begin(), alone.inputs().end());
  expected.insert(expected.end(), alone.inputs().begin(), alone.inputs().end());
  EXPECT_EQ(std::vector<float>(windows.inputs().begin(), windows.inputs().end()), expected);
  std::vector<std::size_t> columns;
  windows.change_states(1, 0, [&](std::size_t column, float& number) {
    columns.push_back(column);
    number += 1000;
  });
  EXPECT_EQ(columns, (std::vector<std::size_t>{2, 0, 5, 3, 9, 7, 12, 10}));
  for (const std::size_t column : columns) expected[2 * size + column] += 1000;
  EXPECT_EQ(std::vector<float>(windows.inputs().begin(), windows.inputs().end()), expected);
  std::vector<float> state(4);
  windows.state(1, 0, {}, state);
  EXPECT_EQ(state[1], NumberedLevels::value(1, 0, 0, 0) + 1000);
}

TEST(FieldPicture, LeavesOutPointsOfWeightZero) {
  const std::vector<std::int64_t> extents{2, 2};
  const std::vector<float> truth{1, 2, 3, 4}, predicted{1, 2.5, 30, 4};
  const std::vector<float> weights{1, 2, 0, 1};
  const FieldPicture picture = make_picture(extents, 1, 0, truth, predicted, MeasureWeights(weights));
  EXPECT_TRUE(std::isnan(picture.truth[2]) && std::isnan(picture.predicted[2]));
  EXPECT_EQ(picture.predicted[1], 2.5f);
  EXPECT_EQ(picture.high, 4);
  EXPECT_EQ(picture.span, 0.5);
}

TEST(FieldPicture, ThinsLargeFieldsAndTakesTheMiddlePlane) {
  const std::vector<std::int64_t> extents{5, 200, 10};
  std::vector<float> truth(static_cast<std::size_t>(2 * points_of(extents)));
  std::iota(truth.begin(), truth.end(), 0.0f);
  std::vector<float> predicted = truth;
  predicted[static_cast<std::size_t>(2 * (2 * 2000) + 1)] += 3;
  const FieldPicture picture = make_picture(extents, 2, 1, truth, predicted);
  EXPECT_EQ(picture.plane, 2);
  EXPECT_EQ(picture.every, 3);
  EXPECT_EQ(picture.rows, 67);
  EXPECT_EQ(picture.columns, 4);
  EXPECT_EQ(picture.truth[0], 8001);
  EXPECT_EQ(picture.truth[5], 2 * (4000 + 30 + 3) + 1);
  EXPECT_EQ(picture.low, 8001);
  EXPECT_EQ(picture.span, 3);
}

TEST(FieldPicture, CodesValuesInBytes) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{-1, 0, 1, 2, inf};
  EXPECT_EQ(picture_codes(values, -1, 1), (std::vector<std::uint8_t>{0, 127, 254, 254, 255}));
  EXPECT_EQ(picture_codes(values, 1, 1)[0], 127);                 // one value has no range
  const std::vector<std::uint8_t> text{'M', 'y', 'l', 'o', 's'};  // RFC 4648
  EXPECT_EQ(base64(text), "TXlsb3M=");
  EXPECT_EQ(base64(std::span(text).first(4)), "TXlsbw==");
  EXPECT_EQ(base64(std::span(text).first(3)), "TXls");
}

TEST(FieldPicture, SamplesAreChosenByTheSeed) {
  const std::vector<std::int64_t> chosen = chosen_by_seed(5, 1000, 3);
  EXPECT_EQ(chosen.size(), 3u);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  EXPECT_EQ(chosen, chosen_by_seed(5, 1000, 3));
  EXPECT_NE(chosen, chosen_by_seed(6, 1000, 3));
  EXPECT_EQ(chosen_by_seed(5, 2, 3), (std::vector<std::int64_t>{0, 1}));
}

}  // namespace mylos::field_measures_test

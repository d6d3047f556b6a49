// Dropout: the elements that it drops depend only on seed, name, step, sample and column.
#include "mylos/kernels/pointwise/dropout.hpp"

#include <gtest/gtest.h>

#include "kernels/matrix.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/pointwise/activation.hpp"

namespace mylos::dropout_test {

constexpr std::int64_t rows = 40;
constexpr std::int64_t columns = 303;

class DropoutTest : public testing::Test {
 protected:
  Dropout dropout(float probability, std::uint64_t first_sample = 1000) const {
    return {RandomStream(5, RandomPurpose::dropout, "hidden1"), probability, step_.data(), first_sample};
  }
  /// What becomes of ones: 1/(1-p) or 0.
  static std::vector<float> mask(const Dropout& dropout, std::int64_t count = rows) {
    const test::Matrix ones(DType::fp32, count, columns,
                            std::vector<float>(static_cast<std::size_t>(count * columns), 1.0f));
    activation_forward(Execution{}, Activation::none, ones, ones, dropout);
    return ones.values();
  }

  test::DeviceValue<std::uint64_t> step_{17};
};

TEST_F(DropoutTest, DropsWhereTheStreamsWordSaysSo) {
  const auto factors = mask(dropout(0.25f));
  const RandomStream stream(5, RandomPurpose::dropout, "hidden1");
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (std::uint64_t column = 0; column < columns; ++column) {
      const bool survives = stream.word(17, 1000 + row, column) < 0.75 * 4294967295.0;
      ASSERT_EQ(factors[row * columns + column], survives ? 1.0f / 0.75f : 0.0f);
    }
  }
}

TEST_F(DropoutTest, DropsTheFractionThatWasAskedFor) {
  for (const float probability : {0.1f, 0.5f, 0.9f}) {
    const auto factors = mask(dropout(probability), 400);
    const auto count = static_cast<double>(factors.size());
    const double dropped = static_cast<double>(std::count(factors.begin(), factors.end(), 0.0f)) / count;
    EXPECT_NEAR(dropped, probability, 5 * std::sqrt(probability * (1 - probability) / count));
  }
}

TEST_F(DropoutTest, IsTheSameForAnySplitOfTheSamples) {
  const auto whole = mask(dropout(0.2f, 1000));
  for (const std::int64_t first_part : {1, 7, 39}) {
    auto parts = mask(dropout(0.2f, 1000), first_part);
    const auto second = mask(dropout(0.2f, 1000 + static_cast<std::uint64_t>(first_part)), rows - first_part);
    parts.insert(parts.end(), second.begin(), second.end());
    EXPECT_EQ(parts, whole);
  }
}

TEST_F(DropoutTest, FollowsTheStepInDeviceMemory) {
  const Dropout same = dropout(0.5f);
  const auto before = mask(same);
  step_.set(18);
  EXPECT_NE(mask(same), before);
  step_.set(17);
  EXPECT_EQ(mask(same), before);
}

TEST_F(DropoutTest, ZeroProbabilityNeedsNoStepAndChangesNothing) {
  EXPECT_EQ(mask(Dropout{}), std::vector<float>(rows * columns, 1.0f));
}

TEST_F(DropoutTest, ForwardDropsTheActivationAndBackwardItsGradient) {
  const auto factor = mask(dropout(0.3f));
  for (const DType type : test::all_types) {
    const auto x = test::random_values(type, rows * columns, -3, 3, 1);
    const auto dy = test::random_values(type, rows * columns, -1, 1, 2);
    const test::Matrix in(type, rows, columns, x);
    const test::Matrix d_out(type, rows, columns, dy);
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu,
                                        Activation::gelu_tanh, Activation::tanh, Activation::silu}) {
      const test::Matrix plain(DType::fp32, rows, columns, x);
      activation_forward(Execution{}, activation, plain, plain, {});
      const test::Matrix out(type, rows, columns);
      activation_forward(Execution{}, activation, in, out, dropout(0.3f));
      // The result without dropout, in float, from the same input: times the factor it is the result with
      // dropout.
      const test::Matrix kept(DType::fp32, rows, columns,
                              keeps_output(activation, false) ? plain.values() : x);
      const test::Matrix d_plain(DType::fp32, rows, columns, dy);
      activation_backward(Execution{}, activation, kept, d_plain, d_plain, {}, false, {});
      const test::Matrix d_in(type, rows, columns);
      activation_backward(Execution{}, activation, keeps_output(activation, true) ? out : in, d_out, d_in, {},
                          false, dropout(0.3f));
      const auto y = out.values();
      const auto dx = d_in.values();
      const auto y_plain = plain.values();
      const auto dx_plain = d_plain.values();
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double y_expected = static_cast<double>(y_plain[i]) * factor[i];
        const double dx_expected = static_cast<double>(dx_plain[i]) * factor[i];
        // The factor and the product; both results may be off by 12 units, 24 u, in either direction
        // (test_math.cpp).
        const double arithmetic = (2 + 2 * 24) * test::u;
        ASSERT_NEAR(y[i], y_expected,
                    test::rounding_error(type, y_expected) + arithmetic * std::abs(y_expected));
        ASSERT_NEAR(dx[i], dx_expected,
                    test::rounding_error(type, dx_expected) + arithmetic * factor[i] * std::abs(dy[i]));
      }
    }
  }
}

TEST_F(DropoutTest, BiasGradientSumsWhatSurvived) {
  const auto factor = mask(dropout(0.5f));
  const test::Matrix d_out(DType::bf16, rows, columns, std::vector<float>(rows * columns, 1.0f));
  const test::Matrix bias(DType::fp32, 1, columns);
  activation_backward(Execution{}, Activation::none, {}, d_out, d_out, bias, false, dropout(0.5f));
  const auto sums = bias.values();
  for (std::size_t column = 0; column < columns; ++column) {
    float expected = 0;
    for (std::size_t row = 0; row < rows; ++row) expected += factor[row * columns + column];
    ASSERT_EQ(sums[column], expected);
  }
}

}  // namespace mylos::dropout_test

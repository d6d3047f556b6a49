// Losses against double references, their gradients against central differences, and hostile inputs.
#include "mylos/kernels/pointwise/loss.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos::loss_test {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

using Values = std::vector<double>;

double cross_entropy_of(const Values& logits, std::size_t label) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  return std::log(sum) + largest - logits[label];
}

/// The error of central differences in double with h = 1e-5: the third derivative times h^2 / 6, and the
/// rounding of the losses, 20 2^-53 / h, times the scale 1024 / 50.
constexpr double difference_error = 2e-8;

/// The error in float of log(sum of exp(z_j - max)) + max - z_label, and the relative error of a probability.
/// The sum has `classes` terms. An exponential is off by 4 u (test_math.cpp) and by the rounding of its
/// argument, and so are the logarithm and the last three terms. None is larger than `spread`, that of the
/// logits, plus log(classes). A device also rounds the argument's product with log2(e), and that constant.
double cross_entropy_error(std::size_t classes, double spread) {
  const auto terms = static_cast<double>(classes);
  const double argument = runs_on_host ? 1 : 2.3;
  return test::summing_error(terms, 1, 4 + argument * spread) + 4 * test::u * (spread + std::log(terms) + 1);
}

/// Runs the loss on a copy of the logits and stores the results.
struct CrossEntropy {
  CrossEntropy(DType type, std::int64_t classes, const std::vector<float>& values,
               const std::vector<std::int32_t>& labels, bool in_place = false, float scale = 1024.0f,
               std::int64_t counted = 0) {
    const auto rows = static_cast<std::int64_t>(labels.size());
    const test::Matrix logits(type, rows, classes, values);
    const test::Matrix separate(type, rows, classes);
    const Arena label_memory("labels", labels.size() * sizeof(std::int32_t));
    const Arena correct_memory("correct", labels.size() * sizeof(std::int32_t));
    const test::Matrix loss_memory(DType::fp32, 1, rows);
    const test::DeviceValue<float> scale_memory(scale);
    test::copy_to_device(labels.data(), label_memory.data(), label_memory.bytes());
    softmax_cross_entropy(Execution{}, logits, reinterpret_cast<const std::int32_t*>(label_memory.data()),
                          in_place ? logits : separate, scale_memory.data(), 1.0f / static_cast<float>(rows),
                          loss_memory.floats(), reinterpret_cast<std::int32_t*>(correct_memory.data()),
                          counted);
    loss = loss_memory.values();
    correct.resize(labels.size());
    test::copy_to_host(correct_memory.data(), correct.data(), correct_memory.bytes());
    gradient = in_place ? logits.values() : separate.values();
  }
  std::vector<float> loss;
  std::vector<float> gradient;
  std::vector<std::int32_t> correct;
};

class CrossEntropyOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, CrossEntropyOfType, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

TEST_P(CrossEntropyOfType, ColumnsThatPadAreAsIfTheyWereNotThere) {
  constexpr std::size_t rows = 20;
  // A device holds rows of 128 and 5120 columns in registers, and reads others, such as 101 and 102, twice.
  // Above 1024 columns it uses another number of threads for them, and so another order of additions; an
  // emulated device does not.
  const std::size_t many = emulates_device ? 5000 : 1000;
  for (const std::size_t classes : {std::size_t{1}, std::size_t{5}, std::size_t{101}, many}) {
    for (const std::size_t columns : {classes, classes + 1, (classes / 128 + 1) * 128}) {
      const auto x = test::random_values(GetParam(), static_cast<std::int64_t>(rows * classes), -60, -20, 3);
      std::vector<float> padded;
      std::vector<std::int32_t> labels;
      for (std::size_t row = 0; row < rows; ++row) {
        padded.insert(padded.end(), x.begin() + static_cast<std::ptrdiff_t>(row * classes),
                      x.begin() + static_cast<std::ptrdiff_t>((row + 1) * classes));
        padded.resize((row + 1) * columns, row % 2 == 0 ? 0.0f : not_a_number);
        labels.push_back(static_cast<std::int32_t>(row % classes));
      }
      const CrossEntropy expected(GetParam(), static_cast<std::int64_t>(classes), x, labels);
      for (const bool in_place : {false, true}) {
        const CrossEntropy found(GetParam(), static_cast<std::int64_t>(columns), padded, labels, in_place,
                                 1024, static_cast<std::int64_t>(classes));
        EXPECT_EQ(found.loss, expected.loss);
        EXPECT_EQ(found.correct, expected.correct);
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t c = 0; c < columns; ++c) {
            ASSERT_EQ(found.gradient[row * columns + c],
                      c < classes ? expected.gradient[row * classes + c] : 0);
          }
        }
      }
    }
  }
  const CrossEntropy beyond(GetParam(), 8, std::vector<float>(8, 0.0f), {6}, false, 1024, 5);
  EXPECT_TRUE(std::isnan(beyond.loss[0])) << "a label of a column that pads";
}

TEST_P(CrossEntropyOfType, LossAndGradientAreThoseOfTheDoubleReference) {
  constexpr std::size_t rows = 50;
  for (const std::size_t classes : {std::size_t{2}, std::size_t{10}, std::size_t{1000}}) {
    const auto x = test::random_values(GetParam(), static_cast<std::int64_t>(rows * classes), -5, 5, 1);
    std::vector<std::int32_t> labels;
    for (std::size_t row = 0; row < rows; ++row)
      labels.push_back(static_cast<std::int32_t>(row * 7 % classes));
    const CrossEntropy found(GetParam(), static_cast<std::int64_t>(classes), x, labels);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto label = static_cast<std::size_t>(labels[row]);
      const Values logits(x.begin() + static_cast<std::ptrdiff_t>(row * classes),
                          x.begin() + static_cast<std::ptrdiff_t>((row + 1) * classes));
      const double loss = cross_entropy_of(logits, label);
      const double error = cross_entropy_error(classes, 10);
      ASSERT_NEAR(found.loss[row], loss, error);
      ASSERT_EQ(found.correct[row], std::max_element(logits.begin(), logits.end()) - logits.begin() ==
                                        static_cast<std::ptrdiff_t>(label));
      for (std::size_t c = 0; c<classes; c += classes> 10 ? 37 : 1) {
        const double slope = test::central_difference(
            [&](const Values& at) { return cross_entropy_of(at, label); }, logits, c);
        const double expected = 1024.0 / rows * slope;
        // A probability, minus 1 for the label, times the scale.
        const double probability = slope + (c == label ? 1 : 0);
        const double arithmetic = 1024.0 / rows * error * probability + 3 * test::u * std::abs(expected);
        ASSERT_NEAR(found.gradient[row * classes + c], expected,
                    test::rounding_error(GetParam(), expected) + arithmetic + difference_error);
      }
    }
  }
}

TEST_P(CrossEntropyOfType, OfManyClassesIsThatOfTheDoubleReferenceWhereverRowsStart) {
  constexpr std::size_t rows = 3;
  for (const std::size_t classes :
       {std::size_t{7992}, std::size_t{50257}, std::size_t{50304}, std::size_t{70000}}) {
    const auto x = test::random_values(GetParam(), static_cast<std::int64_t>(rows * classes), -5, 5, 4);
    const std::vector<std::int32_t> labels{0, 4321, static_cast<std::int32_t>(classes - 1)};
    const CrossEntropy found(GetParam(), static_cast<std::int64_t>(classes), x, labels, true);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto label = static_cast<std::size_t>(labels[row]);
      const Values logits(x.begin() + static_cast<std::ptrdiff_t>(row * classes),
                          x.begin() + static_cast<std::ptrdiff_t>((row + 1) * classes));
      const double error = cross_entropy_error(classes, 10);
      const double loss = cross_entropy_of(logits, label);
      ASSERT_NEAR(found.loss[row], loss, error);
      for (std::size_t c = 0; c < classes; ++c) {
        const double probability = std::exp(logits[c] - logits[label] - loss);
        const double expected = 1024.0 / rows * (probability - (c == label ? 1 : 0));
        const double arithmetic = 1024.0 / rows * error * probability + 3 * test::u * std::abs(expected);
        ASSERT_NEAR(found.gradient[row * classes + c], expected,
                    test::rounding_error(GetParam(), expected) + arithmetic)
            << "class " << c << " of " << classes;
      }
    }
  }
}

TEST_P(CrossEntropyOfType, InPlaceGivesTheSameNumbers) {
  for (const std::int64_t classes : {10, 16}) {
    const auto x = test::random_values(GetParam(), 3 * classes, -5, 5, 1);
    const CrossEntropy separate(GetParam(), classes, x, {1, 2, 3});
    const CrossEntropy in_place(GetParam(), classes, x, {1, 2, 3}, true);
    EXPECT_EQ(in_place.gradient, separate.gradient);
    EXPECT_EQ(in_place.loss, separate.loss);
    EXPECT_EQ(in_place.correct, separate.correct);
  }
}

TEST(CrossEntropy, HugeLogitsAreStable) {
  const CrossEntropy found(DType::fp32, 3, {1e30f, 0, -1e30f, -1e4f, -1e4f, -1e4f}, {0, 1}, false, 2.0f);
  EXPECT_EQ(found.loss[0], 0.0f);
  EXPECT_NEAR(found.loss[1], std::log(3.0), cross_entropy_error(3, 0));
  EXPECT_NEAR(found.gradient[4], 1.0 / 3 - 1, cross_entropy_error(3, 0));
}

TEST(CrossEntropy, AScaleThatHalfDoesNotHoldIsAppliedInFloat) {
  const CrossEntropy found(DType::fp16, 2, {0, 0, 0, 0}, {0, 1}, false, 65536.0f);
  EXPECT_EQ(found.gradient, (std::vector<float>{-16384, 16384, 16384, -16384}));
}

TEST(CrossEntropy, OfEqualLogitsTheFirstWins) {
  for (const std::size_t classes : {std::size_t{3}, std::size_t{24}}) {
    std::vector<float> row(classes, 0.0f);
    row[0] = row[classes / 2] = 1;
    std::vector<float> logits = row;
    logits.insert(logits.end(), row.begin(), row.end());
    const CrossEntropy found(DType::fp32, static_cast<std::int64_t>(classes), logits,
                             {0, static_cast<std::int32_t>(classes / 2)});
    EXPECT_EQ(found.correct, (std::vector<std::int32_t>{1, 0}));
  }
}

TEST(CrossEntropy, NanAndInfinityMakeTheLossNanAndNothingCorrect) {
  for (const std::size_t classes : {std::size_t{3}, std::size_t{16}}) {
    for (const float bad : {not_a_number, infinity}) {
      for (std::size_t position = 0; position < classes; ++position) {
        std::vector<float> logits(classes, 0.1f);
        logits.back() = 0.3f;
        logits[position] = bad;
        const CrossEntropy found(DType::fp32, static_cast<std::int64_t>(classes), logits,
                                 {static_cast<std::int32_t>(classes - 1)});
        EXPECT_TRUE(std::isnan(found.loss[0]));
        EXPECT_EQ(found.correct[0], 0);
        EXPECT_TRUE(std::isnan(found.gradient[position]));
      }
    }
  }
}

TEST(CrossEntropy, ALabelOutsideMakesNoGradientOfColumnsThatPad) {
  const CrossEntropy found(DType::bf16, 16, std::vector<float>(16, 1.0f), {12}, false, 1024, 11);
  for (std::size_t c = 0; c < 16; ++c) EXPECT_EQ(std::isnan(found.gradient[c]), c < 11) << c;
}

TEST(CrossEntropy, ALabelOutsideTheClassesMakesLossAndGradientNan) {
  const CrossEntropy found(DType::bf16, 3, {1, 2, 3, 1, 2, 3}, {-1, 3});
  for (const float loss : found.loss) EXPECT_TRUE(std::isnan(loss));
  for (const float gradient : found.gradient) EXPECT_TRUE(std::isnan(gradient));
  EXPECT_EQ(found.correct, (std::vector<std::int32_t>{0, 0}));
}

TEST(CrossEntropy, EvaluationNeedsNeitherGradientNorScale) {
  const test::Matrix logits(DType::fp32, 1, 2, {0, 0});
  const test::DeviceValue<std::int32_t> label(0);
  const test::DeviceValue<float> loss;
  softmax_cross_entropy(Execution{}, logits, label.data(), {}, nullptr, 0, loss.data(), nullptr);
  EXPECT_NEAR(loss.get(), std::log(2.0), cross_entropy_error(2, 0));
}

TEST(MeanSquaredError, LossAndGradientAreThoseOfTheDoubleReference) {
  constexpr std::size_t rows = 33;
  constexpr std::size_t columns = 17;
  const auto t = test::random_values(DType::fp32, rows * columns, -2, 2, 2);
  const test::Matrix targets(DType::fp32, rows, columns, t);
  const test::DeviceValue<float> scale(256.0f);
  for (const DType type : test::all_types) {
    const auto p = test::random_values(type, rows * columns, -2, 2, 1);
    const test::Matrix predictions(type, rows, columns, p);
    const test::Matrix gradient(type, rows, columns);
    const test::Matrix loss(DType::fp32, 1, rows);
    mean_squared_error(Execution{},
                       {predictions, targets.floats(), gradient, scale.data(), 1.0f / rows, loss.floats()});
    const auto losses = loss.values();
    const auto d = gradient.values();
    for (std::size_t row = 0; row < rows; ++row) {
      const auto loss_of_row = [&](std::size_t moved, double by) {
        double sum = 0;
        for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
          const double error = p[i] + (i == moved ? by : 0) - t[i];
          sum += error * error;
        }
        return sum / columns;
      };
      // A term is a difference, squared: three roundings. The mean is one more.
      ASSERT_NEAR(losses[row], loss_of_row(0, 0), test::summing_error(columns, loss_of_row(0, 0), 4));
      for (std::size_t i = row * columns; i < (row + 1) * columns; ++i) {
        const double expected = 256.0 / rows * (loss_of_row(i, 1e-4) - loss_of_row(i, -1e-4)) / 2e-4;
        // The difference and its factors have five roundings. The loss is a square, so central differences
        // are exact except for their own rounding, 2^-53 (loss / 1e-4) 8.
        ASSERT_NEAR(d[i], expected,
                    test::rounding_error(type, expected) + 5 * test::u * std::abs(expected) + 1e-10);
      }
    }
    const auto separate = gradient.values();
    mean_squared_error(
        Execution{}, {predictions, targets.floats(), predictions, scale.data(), 1.0f / rows, loss.floats()});
    EXPECT_EQ(predictions.values(), separate);
  }
}

TEST(SumRows, AddsToWhatIsThere) {
  const test::Matrix values(DType::fp32, 1, 1000, std::vector<float>(1000, 0.5f));
  const test::DeviceValue<double> sum(3.0);
  sum_rows(Execution{}, values.floats(), 1000, sum.data());
  EXPECT_EQ(sum.get(), 503.0);

  const std::vector<std::int32_t> ones(1000, 1);
  const Arena integers("integers", ones.size() * sizeof(std::int32_t));
  test::copy_to_device(ones.data(), integers.data(), integers.bytes());
  const test::DeviceValue<std::int64_t> count(5);
  sum_rows(Execution{}, reinterpret_cast<const std::int32_t*>(integers.data()), 1000, count.data());
  EXPECT_EQ(count.get(), 1005);
}

}  // namespace mylos::loss_test

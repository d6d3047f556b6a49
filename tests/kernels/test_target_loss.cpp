// Losses of targets, and smoothing and class weights of cross-entropy: against double references, gradients
// against central differences, and values computed by hand or published.
#include <gtest/gtest.h>

#include <functional>

#include "kernels/central_difference.hpp"
#include "kernels/matrix.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "support/device_views.hpp"

namespace mylos::target_loss_test {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// A kernel, and the loss of one row in double, in another form than the kernel's.
struct NamedLoss {
  std::string name;
  std::function<void(const Execution& exec, const LossArrays& arrays)> run;
  std::function<double(const std::vector<double>& p, const std::vector<double>& t)> of_row;
  bool needs_probabilities = false;
};

double mean(const std::vector<double>& p, const std::vector<double>& t,
            const std::function<double(double, double)>& of) {
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += of(p[i], t[i]);
  return sum / static_cast<double>(p.size());
}

const std::vector<NamedLoss>& losses() {
  static const std::vector<NamedLoss> all{
      {"mse", mean_squared_error,
       [](const auto& p, const auto& t) {
         return mean(p, t, [](double a, double b) { return std::pow(a - b, 2); });
       }},
      {"l1", mean_absolute_error,
       [](const auto& p, const auto& t) {
         return mean(p, t, [](double a, double b) { return std::abs(a - b); });
       }},
      {"huber", [](const Execution& exec, const LossArrays& arrays) { mean_huber_loss(exec, arrays, 0.75f); },
       [](const auto& p, const auto& t) {
         return mean(p, t, [](double a, double b) {
           const double e = std::abs(a - b);
           return e < 0.75 ? e * e / 2 : 0.75 * (e - 0.375);
         });
       }},
      {"relative_l2", relative_l2_error,
       [](const auto& p, const auto& t) {
         double error = 0, norm = 0;
         for (std::size_t i = 0; i < p.size(); ++i) {
           error += (p[i] - t[i]) * (p[i] - t[i]);
           norm += t[i] * t[i];
         }
         return std::sqrt(error / norm);
       }},
      {"binary_cross_entropy", mean_binary_cross_entropy,
       [](const auto& p, const auto& t) {
         return mean(p, t, [](double a, double b) {
           return -b * std::log(1 / (1 + std::exp(-a))) - (1 - b) * std::log(1 / (1 + std::exp(a)));
         });
       },
       true}};
  return all;
}

class LossOfTargets : public testing::TestWithParam<std::tuple<std::size_t, DType>> {};
INSTANTIATE_TEST_SUITE_P(All, LossOfTargets,
                         testing::Combine(testing::Range(std::size_t{0}, losses().size()),
                                          testing::ValuesIn(test::all_types)),
                         [](const auto& parameter) {
                           return losses()[std::get<0>(parameter.param)].name + "_" +
                                  std::string(name_of(std::get<1>(parameter.param)));
                         });

TEST_P(LossOfTargets, AndItsGradientAreThoseOfTheDoubleReference) {
  const NamedLoss& loss = losses()[std::get<0>(GetParam())];
  const DType type = std::get<1>(GetParam());
  constexpr std::size_t rows = 33;
  const test::DeviceValue<float> scale(256.0f);
  for (const std::size_t columns : {std::size_t{1}, std::size_t{17}, std::size_t{700}}) {
    const auto count = static_cast<std::int64_t>(rows * columns);
    const auto p = test::random_values(type, count, -2, 2, 1);
    const auto t = test::random_values(DType::fp32, count, loss.needs_probabilities ? 0 : -2,
                                       loss.needs_probabilities ? 1 : 2, 2);
    const test::Matrix predictions(type, rows, static_cast<std::int64_t>(columns), p);
    const test::Matrix targets(DType::fp32, rows, static_cast<std::int64_t>(columns), t);
    const test::Matrix gradient(type, rows, static_cast<std::int64_t>(columns));
    const test::Matrix row_loss(DType::fp32, 1, rows);
    loss.run(Execution{},
             {predictions, targets.floats(), gradient, scale.data(), 1.0f / rows, row_loss.floats()});
    const auto found = row_loss.values();
    const auto d = gradient.values();
    for (std::size_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<std::ptrdiff_t>(row * columns),
                 end = begin + static_cast<std::ptrdiff_t>(columns);
      const std::vector<double> of_p(p.begin() + begin, p.begin() + end);
      const std::vector<double> of_t(t.begin() + begin, t.begin() + end);
      const double expected_loss = loss.of_row(of_p, of_t);
      // Each term has a few roundings of numbers up to 4, and so do the operations after the sum.
      ASSERT_NEAR(found[row], expected_loss,
                  test::summing_error(static_cast<double>(columns), expected_loss, 8) + 16 * test::u);
      for (std::size_t c = 0; c<columns; c += columns> 100 ? 61 : 1) {
        // Where the derivative is discontinuous, a difference across the point is meaningless.
        const double error = std::abs(of_p[c] - of_t[c]);
        if (error < 2 * test::difference_step || std::abs(error - 0.75) < 2 * test::difference_step) continue;
        const double expected =
            256.0 / rows *
            test::central_difference([&](const std::vector<double>& at) { return loss.of_row(at, of_t); },
                                     of_p, c);
        const double arithmetic = test::u * 256.0 / rows * (40 + static_cast<double>(columns)) /
                                  static_cast<double>(loss.name == "relative_l2" ? 1 : columns);
        ASSERT_NEAR(d[row * columns + c], expected, test::rounding_error(type, expected) + arithmetic + 1e-7)
            << columns << " columns, row " << row << ", " << c;
      }
    }
    loss.run(Execution{},
             {predictions, targets.floats(), predictions, scale.data(), 1.0f / rows, row_loss.floats()});
    EXPECT_EQ(predictions.values(), d) << "in place";
    EXPECT_EQ(row_loss.values(), found);
  }
}

/// The loss and gradient of one row.
struct OneRow {
  OneRow(const NamedLoss& named, const std::vector<float>& p, const std::vector<float>& t) {
    const auto columns = static_cast<std::int64_t>(p.size());
    const test::Matrix predictions(DType::fp32, 1, columns, p), targets(DType::fp32, 1, columns, t),
        d(DType::fp32, 1, columns);
    const test::DeviceValue<float> scale(1.0f), row_loss;
    named.run(Execution{}, {predictions, targets.floats(), d, scale.data(), 1, row_loss.data()});
    loss = row_loss.get();
    gradient = d.values();
  }
  float loss;
  std::vector<float> gradient;
};

TEST(LossOfTargets, HandMadeValues) {
  const auto& all = losses();
  EXPECT_EQ(OneRow(all[1], {1, 2, 3, 4}, {1, 0, 5, 4}).loss, 1.0f);
  EXPECT_EQ(OneRow(all[1], {1, 2, 3, 4}, {1, 0, 5, 4}).gradient, (std::vector<float>{0, 0.25f, -0.25f, 0}));
  EXPECT_EQ(OneRow(all[2], {0.5f, 2}, {0, 0}).loss, (0.125f + 0.75f * 1.625f) / 2);
  EXPECT_EQ(OneRow(all[2], {0.5f, -2}, {0, 0}).gradient, (std::vector<float>{0.25f, -0.375f}));
  EXPECT_FLOAT_EQ(OneRow(all[3], {3, 8}, {0, 4}).loss, 1.25f);  // |(3, 4)| / |(0, 4)|
  EXPECT_FLOAT_EQ(OneRow(all[3], {3, 8}, {0, 4}).gradient[0], 0.15f);
}

TEST(LossOfTargets, RelativeErrorIsFiniteWhereNormsAreZero) {
  const NamedLoss& relative = losses()[3];
  EXPECT_EQ(OneRow(relative, {3, 4}, {0, 0}).loss, 5.0f);
  EXPECT_FLOAT_EQ(OneRow(relative, {3, 4}, {0, 0}).gradient[1], 0.8f);
  EXPECT_EQ(OneRow(relative, {3, 4}, {3, 4}).loss, 0.0f);
  EXPECT_EQ(OneRow(relative, {3, 4}, {3, 4}).gradient, (std::vector<float>{0, 0}));
}

TEST(LossOfTargets, BinaryCrossEntropyIsStableForAnyLogit) {
  const NamedLoss& binary = losses()[4];
  EXPECT_FLOAT_EQ(OneRow(binary, {0}, {0.5f}).loss, std::log(2.0f));
  EXPECT_EQ(OneRow(binary, {3e38f}, {1}).loss, 0.0f);
  EXPECT_EQ(OneRow(binary, {-3e38f}, {0}).loss, 0.0f);
  EXPECT_EQ(OneRow(binary, {-1e4f}, {1}).loss, 1e4f);
  EXPECT_EQ(OneRow(binary, {1e4f}, {0}).gradient[0], 1.0f);
  EXPECT_EQ(OneRow(binary, {-1e4f}, {1}).gradient[0], -1.0f);
  EXPECT_NEAR(OneRow(binary, {-20}, {0}).loss, std::log1p(std::exp(-20.0)), 1e-15);  // not lost beside 1
}

TEST(LossOfTargets, WhatIsNotFiniteShows) {
  for (const NamedLoss& loss : losses()) {
    const OneRow row(loss, {std::nanf(""), 0}, {0, 1});
    EXPECT_TRUE(std::isnan(row.loss)) << loss.name;
    EXPECT_TRUE(std::isnan(row.gradient[0])) << loss.name;
    EXPECT_FALSE(std::isfinite(OneRow(loss, {infinity, 0}, {0, 1}).loss)) << loss.name;
  }
}

/// Losses and gradients of rows with labels 0, 1, 2 ... of `classes`, with these options.
struct Classified {
  Classified(DType type, std::int64_t classes, std::int64_t rows, const std::vector<float>& logits,
             float smoothing, const std::vector<float>& weights, std::int64_t counted = 0) {
    const test::Matrix x(type, rows, classes, logits), d(type, rows, classes);
    std::vector<std::int32_t> labels;
    const std::int64_t known = counted > 0 ? counted : classes;
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int32_t>(i % known));
    const Arena label_memory("labels", labels.size() * 4), correct_memory("correct", labels.size() * 4);
    test::copy_to_device(labels.data(), label_memory.data(), label_memory.bytes());
    const test::Matrix row_loss(DType::fp32, 1, rows);
    const test::DeviceValue<float> scale(64.0f);
    const test::Matrix on_device(
        DType::fp32, 1, known,
        weights.empty() ? std::vector<float>(static_cast<std::size_t>(known)) : weights);
    softmax_cross_entropy(
        Execution{}, x, reinterpret_cast<const std::int32_t*>(label_memory.data()), d, scale.data(),
        1.0f / static_cast<float>(rows), row_loss.floats(),
        reinterpret_cast<std::int32_t*>(correct_memory.data()), counted,
        {.smoothing = smoothing, .class_weights = weights.empty() ? nullptr : on_device.floats()});
    loss = row_loss.values();
    gradient = d.values();
    correct.resize(labels.size());
    test::copy_to_host(correct_memory.data(), correct.data(), correct_memory.bytes());
  }
  std::vector<float> loss;
  std::vector<float> gradient;
  std::vector<std::int32_t> correct;
};

double smoothed(const std::vector<double>& x, std::size_t label, double smoothing, double weight) {
  double sum = 0;
  for (const double logit : x) sum += std::exp(logit);
  double loss = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double target = (c == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(x.size());
    loss -= target * std::log(std::exp(x[c]) / sum);
  }
  return weight * loss;
}

class ClassifiedOfType : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, ClassifiedOfType, testing::ValuesIn(test::all_types),
                         [](const auto& parameter) { return std::string(name_of(parameter.param)); });

TEST_P(ClassifiedOfType, SmoothingAndWeightsAreThoseOfTheDoubleReference) {
  constexpr std::int64_t rows = 40;
  for (const std::int64_t classes : {2, 10, 129, 1000}) {
    const auto x = test::random_values(GetParam(), rows * classes, -5, 5, 1);
    const auto weights = test::random_values(DType::fp32, classes, 0.25f, 4, 2);
    for (const auto& [smoothing, some] :
         {std::pair{0.1f, std::vector<float>()}, {0.0f, weights}, {0.3f, weights}}) {
      const Classified found(GetParam(), classes, rows, x, smoothing, some);
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto label = static_cast<std::size_t>(row % classes);
        const double weight = some.empty() ? 1 : some[label];
        const std::vector<double> of_x(x.begin() + row * classes, x.begin() + (row + 1) * classes);
        const auto loss = [&, smoothing = smoothing](const std::vector<double>& at) {
          return smoothed(at, label, smoothing, weight);
        };
        const double error = test::u * (200 + static_cast<double>(classes)) * weight;
        ASSERT_NEAR(found.loss[static_cast<std::size_t>(row)], loss(of_x), error);
        for (std::size_t c = 0; c<of_x.size(); c += classes> 10 ? 37 : 1) {
          const double expected = 64.0 / rows * test::central_difference(loss, of_x, c);
          ASSERT_NEAR(found.gradient[static_cast<std::size_t>(row * classes) + c], expected,
                      test::rounding_error(GetParam(), expected) + 2 * error + 1e-8);
        }
      }
    }
    EXPECT_EQ(Classified(GetParam(), classes, rows, x, 0.2f, weights).correct,
              Classified(GetParam(), classes, rows, x, 0, {}).correct);
  }
}

TEST_P(ClassifiedOfType, WithoutThemNoBitChangesAndPaddingTakesNothing) {
  constexpr std::int64_t rows = 12, classes = 10, columns = 16;
  const auto x = test::random_values(GetParam(), rows * classes, -5, 5, 1);
  std::vector<float> padded;
  for (std::int64_t row = 0; row < rows; ++row) {
    padded.insert(padded.end(), x.begin() + row * classes, x.begin() + (row + 1) * classes);
    padded.resize(static_cast<std::size_t>((row + 1) * columns), 3.0f);
  }
  const std::vector<float> ones(classes, 1.0f);
  EXPECT_EQ(Classified(GetParam(), classes, rows, x, 0, ones).gradient,
            Classified(GetParam(), classes, rows, x, 0, {}).gradient);
  EXPECT_EQ(Classified(GetParam(), classes, rows, x, 0, ones).loss,
            Classified(GetParam(), classes, rows, x, 0, {}).loss);
  const Classified narrow(GetParam(), classes, rows, x, 0.1f, {}),
      wide(GetParam(), columns, rows, padded, 0.1f, {}, classes);
  for (std::size_t row = 0; row < rows; ++row) {
    EXPECT_FLOAT_EQ(wide.loss[row], narrow.loss[row]);
    for (std::size_t c = 0; c < columns; ++c) {
      if (c < classes) {
        EXPECT_EQ(wide.gradient[row * columns + c], narrow.gradient[row * classes + c]);
      } else {
        EXPECT_EQ(wide.gradient[row * columns + c], 0);
      }
    }
  }
}

TEST(Classified, PublishedValueOfSmoothing) {
  // Three logits 0, of which the first is the label: log 3 for any smoothing. Logits (log 6, log 3, log 1)
  // have the probabilities 0.6, 0.3, 0.1, so with smoothing 0.3 the loss is -(0.8 log 0.6 + 0.1 log 0.3 + 0.1
  // log 0.1).
  EXPECT_NEAR(Classified(DType::fp32, 3, 1, {0, 0, 0}, 0.3f, {}).loss[0], std::log(3.0), 1e-6);
  const double expected = -(0.8 * std::log(0.6) + 0.1 * std::log(0.3) + 0.1 * std::log(0.1));
  EXPECT_NEAR(Classified(DType::fp32, 3, 1, {std::log(6.0f), std::log(3.0f), 0}, 0.3f, {}).loss[0], expected,
              1e-6);
  EXPECT_NEAR(Classified(DType::fp32, 3, 1, {std::log(6.0f), std::log(3.0f), 0}, 0.3f, {2, 9, 9}).loss[0],
              2 * expected, 1e-6);
}

}  // namespace mylos::target_loss_test

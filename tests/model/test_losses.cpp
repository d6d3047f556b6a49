// The losses of a network's outputs, each as decks name it: values against double references written here,
// gradients against their central differences, in memory of exactly the stated bytes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>

#include "kernels/matrix.hpp"
#include "model/log_cosh_loss.hpp"
#include "model/scribbling_gemm.hpp"
#include "mylos/model/losses/make_loss.hpp"

namespace mylos::losses_test {

using Numbers = std::vector<double>;
using Reference = std::function<double(const Numbers& outputs, const Numbers& targets)>;

constexpr std::int64_t rows = 3;
constexpr std::int64_t points = 4;  // of one channel, on one axis
constexpr std::int32_t labels[] = {2, 0, 3};
constexpr float huber_delta = 0.5f;
const Numbers levels{0.1, 0.4, 0.75, 0.9};  // the second is the nearest to 0.5

double mean(const Numbers& outputs, const Numbers& targets, const std::function<double(double, double)>& of) {
  return std::transform_reduce(targets.begin(), targets.end(), outputs.begin(), 0.0, std::plus(),
                               [&](double t, double p) { return of(p, t); }) /
         static_cast<double>(targets.size());
}

/// The norm of a periodic field of unit length, with its central differences if they count.
double norm(const Numbers& field, bool has_derivatives) {
  const std::size_t n = field.size();
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double slope = (field[(i + 1) % n] - field[(i + n - 1) % n]) * static_cast<double>(n) / 2;
    sum += field[i] * field[i] + (has_derivatives ? slope * slope : 0);
  }
  return std::sqrt(sum);
}

double relative(const Numbers& outputs, const Numbers& targets, bool has_derivatives) {
  Numbers errors;
  for (std::size_t i = 0; i < targets.size(); ++i) errors.push_back(outputs[i] - targets[i]);
  return norm(errors, has_derivatives) / norm(targets, has_derivatives);
}

/// By the names of decks. The target of cross_entropy is {label}.
const std::map<std::string_view, Reference> references{
    {"cross_entropy",
     [](const Numbers& outputs, const Numbers& targets) {
       double sum = 0;
       for (const double logit : outputs) sum += std::exp(logit);
       return std::log(sum) - outputs[static_cast<std::size_t>(targets[0])];
     }},
    {"mse",
     [](const Numbers& outputs, const Numbers& targets) {
       return mean(outputs, targets, [](double p, double t) { return (p - t) * (p - t); });
     }},
    {"l1",
     [](const Numbers& outputs, const Numbers& targets) {
       return mean(outputs, targets, [](double p, double t) { return std::abs(p - t); });
     }},
    {"huber",
     [](const Numbers& outputs, const Numbers& targets) {
       return mean(outputs, targets, [](double p, double t) {
         const double error = std::abs(p - t);
         return error <= huber_delta ? error * error / 2 : huber_delta * (error - huber_delta / 2);
       });
     }},
    {"relative_l2",
     [](const Numbers& outputs, const Numbers& targets) { return relative(outputs, targets, false); }},
    {"relative_h1",
     [](const Numbers& outputs, const Numbers& targets) { return relative(outputs, targets, true); }},
    {"gaussian",
     [](const Numbers& outputs, const Numbers& targets) {  // at each point its mean, then its log variance
       double sum = 0;
       for (std::size_t i = 0; i < targets.size(); ++i) {
         const double error = outputs[2 * i] - targets[i], log_variance = outputs[2 * i + 1];
         sum += (log_variance + error * error * std::exp(-log_variance) + std::log(2 * std::numbers::pi)) / 2;
       }
       return sum / static_cast<double>(targets.size());
     }},
    {"quantile",
     [](const Numbers& outputs, const Numbers& targets) {  // at each point those of all levels
       double sum = 0;
       for (std::size_t i = 0; i < outputs.size(); ++i) {
         const double q = levels[i % levels.size()], error = targets[i / levels.size()] - outputs[i];
         sum += std::max(q * error, (q - 1) * error);
       }
       return sum / static_cast<double>(outputs.size());
     }},
    {"sum",
     [](const Numbers& outputs, const Numbers& targets) {
       return 0.5 * relative(outputs, targets, true) +
              2 * mean(outputs, targets, [](double p, double t) { return std::abs(p - t); });
     }},
    {"binary_cross_entropy",
     [](const Numbers& outputs, const Numbers& targets) {
       return mean(outputs, targets, [](double p, double t) {
         return -t * std::log(1 / (1 + std::exp(-p))) - (1 - t) * std::log(1 / (1 + std::exp(p)));
       });
     }},
    {"custom", [](const Numbers& outputs, const Numbers& targets) {
       return mean(outputs, targets, [](double p, double t) { return test::log_cosh(p - t); });
     }}};

ModelOptions options_of(Loss loss) {
  ModelOptions model;
  model.loss = loss;
  if (auto* huber = std::get_if<losses::Huber>(&model.loss)) huber->delta = huber_delta;
  if (auto* quantile = std::get_if<losses::Quantile>(&model.loss)) quantile->levels = levels;
  if (std::holds_alternative<losses::Sum>(loss))
    model.terms = {{.loss = losses::RelativeH1{}, .weight = 0.5},
                   {.loss = losses::L1{}, .channels = {0}, .weight = 2}};
  if (std::holds_alternative<losses::Custom>(loss)) model.custom_loss = std::make_shared<test::LogCosh>();
  return model;
}

LossInput input_of(Loss loss, DType type) {
  const std::int64_t channels = outputs_per_target(options_of(loss).loss);
  return {.numbers = points * channels,
          .type = type,
          .shape = {.grid = {.extent = {1, 1, points}, .channels = channels}, .axes = 1}};
}

/// A loss in memory between guards, with outputs and targets of `rows` samples.
struct Bench {
  Bench(Loss loss, DType output_type)
      : type(output_type),
        head(make_loss(options_of(loss), input_of(loss, output_type))),
        bytes(head->cost(gemm, rows).workspace),
        workspace("workspace", bytes + 512),
        outputs(test::random_values(type, rows * head->signature().inputs, -2, 2, 1)),
        targets(test::random_values(DType::fp32, rows * points, 0, 1, 2)),
        input(type, rows, head->signature().inputs, outputs),
        gradient(type, rows, head->signature().inputs),
        truths(DType::fp32, rows, points, targets),
        classes("labels", sizeof labels) {
    Kokkos::deep_copy(Kokkos::View<std::byte*, Device>(workspace.data(), workspace.bytes()), guard);
    test::copy_to_device(labels, classes.data(), sizeof labels);
  }

  [[nodiscard]] StepContext context() const { return {.exec = exec, .engines = gemm}; }
  [[nodiscard]] LossMemory memory() const { return {{}, input, workspace.data() + 256, nullptr}; }
  [[nodiscard]] Truth truth() const {
    if (head->prediction() == Prediction::classes)
      return {.labels = reinterpret_cast<const std::int32_t*>(classes.data())};
    return {.targets = truths.floats()};
  }
  [[nodiscard]] Numbers outputs_of(std::int64_t row) const {
    const auto width = head->signature().inputs;
    return {outputs.begin() + row * width, outputs.begin() + (row + 1) * width};
  }
  [[nodiscard]] Numbers targets_of(std::int64_t row) const {
    if (head->prediction() == Prediction::classes) return {static_cast<double>(labels[row])};
    return {targets.begin() + row * points, targets.begin() + (row + 1) * points};
  }
  void expect_guards() const {
    exec.fence();
    std::vector<std::byte> all(workspace.bytes());
    test::copy_to_host(workspace.data(), all.data(), all.size());
    for (std::size_t i = 0; i < 256; ++i) {
      ASSERT_EQ(all[i], guard) << "before the workspace";
      ASSERT_EQ(all[256 + bytes + i], guard) << "after the workspace";
    }
  }

  static constexpr std::byte guard{0x5a};
  DType type;
  Execution exec;
  mutable test::ScribblingGemm gemm;
  std::unique_ptr<LossHead> head;
  std::size_t bytes;
  Arena workspace;
  std::vector<float> outputs, targets;
  test::Matrix input, gradient, truths;
  Arena classes;
};

class EachLoss : public testing::TestWithParam<std::tuple<std::size_t, DType>> {
 protected:
  [[nodiscard]] static Loss loss() { return kind_at<Loss>(std::get<0>(GetParam())); }
  [[nodiscard]] static DType type() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(All, EachLoss,
                         testing::Combine(testing::Range(std::size_t{0}, std::size(loss_traits)),
                                          testing::ValuesIn(test::all_types)),
                         [](const auto& parameter) {
                           return std::string(loss_traits[std::get<0>(parameter.param)].name) + "_" +
                                  std::string(name_of(std::get<1>(parameter.param)));
                         });

TEST_P(EachLoss, AndItsGradientAreThoseOfTheReference) {
  const Reference& reference = references.at(name_of(loss()));
  const Bench bench(loss(), type());
  EXPECT_EQ(bench.head->loss().name, name_of(loss()));
  EXPECT_EQ(bench.head->signature().outputs, points);
  const test::DeviceValue<LossSums> sums;
  const test::DeviceValue<float> scale(64.0f);
  bench.head->evaluate_and_seed(
      bench.context(), bench.memory(), bench.truth(),
      {.weights = {}, .input = bench.gradient, .scale = scale.data(), .inverse_count = 1.0f / rows},
      sums.data());
  bench.expect_guards();
  const std::vector<float> gradient = bench.gradient.values();
  double expected_loss = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    Numbers outputs = bench.outputs_of(row);
    const Numbers targets = bench.targets_of(row);
    expected_loss += reference(outputs, targets);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      constexpr double h = 1e-5;
      const double middle = outputs[i];
      outputs[i] = middle + h;
      const double above = reference(outputs, targets);
      outputs[i] = middle - h;
      const double below = reference(outputs, targets);
      outputs[i] = middle;
      const double expected = 64.0 / rows * (above - below) / (2 * h);
      // A sum rounds the gradient of each of its two terms too; that of the second is at most 32 / rows.
      const bool is_sum = bench.head->loss().name == losses::Sum::traits.name;
      const double more = is_sum ? 2 * test::rounding_error(type(), std::abs(expected) + 64.0 / rows) : 0;
      const auto found = gradient[static_cast<std::size_t>(row) * outputs.size() + i];
      // Sums of a few terms and their factors, in float, and the difference's own error.
      EXPECT_NEAR(found, expected, test::rounding_error(type(), expected) + more + 64 * 100 * test::u + 1e-6)
          << "row " << row << ", output " << i;
    }
  }
  EXPECT_NEAR(sums.get().loss, expected_loss, 100 * test::u * (1 + std::abs(expected_loss)));
}

TEST_P(EachLoss, IsTheSameWithoutGradients) {
  const Bench bench(loss(), type());
  const test::DeviceValue<LossSums> alone, beside;
  const test::DeviceValue<float> scale(1.0f);
  bench.head->evaluate(bench.context(), bench.memory(), bench.truth(), alone.data());
  bench.expect_guards();
  bench.head->evaluate_and_seed(
      bench.context(), bench.memory(), bench.truth(),
      {.weights = {}, .input = bench.gradient, .scale = scale.data(), .inverse_count = 1}, beside.data());
  EXPECT_EQ(alone.get().loss, beside.get().loss);
  EXPECT_EQ(alone.get().correct, beside.get().correct);
}

void expect_quantiles(const Bench& bench, const std::vector<float>& outputs) {
  EXPECT_EQ(bench.head->quantiles().size(), levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::vector<float> found =
        test::values_of(bench.head->quantile_of(bench.context(), bench.memory(), level));
    bench.expect_guards();
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_EQ(found[i], bench.outputs[levels.size() * i + level]) << "level " << level;
    EXPECT_EQ(found == outputs, level == 1);
  }
}

TEST_P(EachLoss, GivesTheOutputsThatItsPredictionSays) {
  const Bench bench(loss(), type());
  const std::vector<float> outputs = test::values_of(bench.head->outputs_of(bench.context(), bench.memory()));
  ASSERT_EQ(outputs.size(), static_cast<std::size_t>(rows * points));
  if (prediction_of(loss()) == Prediction::quantiles) return expect_quantiles(bench, outputs);
  if (prediction_of(loss()) != Prediction::distributions) {
    EXPECT_EQ(outputs, bench.outputs);
    return;
  }
  const std::vector<float> deviations =
      test::values_of(bench.head->deviations_of(bench.context(), bench.memory()));
  bench.expect_guards();
  EXPECT_EQ(test::values_of(bench.head->outputs_of(bench.context(), bench.memory())), outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], bench.outputs[2 * i]);
    EXPECT_NEAR(deviations[i], std::exp(bench.outputs[2 * i + 1] / 2.0), 8 * test::u * deviations[i]);
  }
}

}  // namespace mylos::losses_test

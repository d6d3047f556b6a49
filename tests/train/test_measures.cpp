// Against numpy's sorting and its own sums.
#include "mylos/train/evaluation/measures/measures.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "io/support.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/train/evaluation/result_files.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"

namespace mylos::measures_test {

using namespace mylos::testing_support;

TEST(Measures, OfClassesAreWhatNumpySorts) {
  if (!python_has("numpy")) GTEST_SKIP() << "this machine's /usr/bin/python3 has no numpy";
  constexpr std::int64_t rows = 500, classes = 12;
  const TemporaryFolder folder;
  python(
      "import numpy as n\ns = n.random.default_rng(2)\nx = s.integers(0, 9, (500, 12)).astype('f4')\n"  // with
                                                                                                        // equals
      "x.tofile('" +
      (folder / "x") + "')\ns.integers(0, 12, 500).astype('i4').tofile('" + (folder / "y") + "')\n");
  const std::string x = read_file(folder / "x"), y = read_file(folder / "y");
  ASSERT_EQ(x.size(), rows * classes * sizeof(float));
  ASSERT_EQ(y.size(), rows * sizeof(std::int32_t));
  const std::span logits(reinterpret_cast<const float*>(x.data()), rows * classes);
  const std::span labels(reinterpret_cast<const std::int32_t*>(y.data()), rows);
  ClassMeasures measures(classes);
  measures.add(logits.subspan(300 * classes), labels.subspan(300));  // in any order
  measures.add(logits.first(300 * classes), labels.first(300));
  std::string ours = fmt::format("{:.6f} {:.6f}\n", measures.accuracy(1), measures.accuracy(5));
  for (std::int64_t label = 0; label < classes; ++label) {
    for (std::int64_t predicted = 0; predicted < classes; ++predicted)
      ours += fmt::format("{} ", measures.confused(label, predicted));
  }
  EXPECT_EQ(
      python("import numpy as n\nx = n.fromfile('" + (folder / "x") +
             "', 'f4').reshape(500, 12)\ny = n.fromfile('" + (folder / "y") +
             "', 'i4')\n"
             "best = n.argsort(-x, axis=1, kind='stable')\n"
             "print('%.6f %.6f' % ((best[:, 0] == y).mean(), (best[:, :5] == y[:, None]).any(1).mean()))\n"
             "m = n.zeros((12, 12), int)\nn.add.at(m, (y, best[:, 0]), 1)\nprint(*m.ravel(), end=' ')"),
      ours);
  EXPECT_EQ(measures.rows(), rows);
}

TEST(Measures, ARowWithNaNIsNowhereRight) {
  ClassMeasures measures(2);
  const std::vector<float> logits{1, std::nanf(""), 2, 1};
  measures.add(logits, std::vector<std::int32_t>{0, 0});
  EXPECT_EQ(measures.accuracy(1), 0.5);
  EXPECT_EQ(measures.accuracy(5), 0.5);
  EXPECT_EQ(measures.confused(0, 0), 1);
  EXPECT_EQ(measures.rows_with_nan(), 1);
}

TEST(Measures, AMatrixIsKeptWhereItIsWanted) {
  const std::vector with{Measure::top5, Measure::confusion}, without{Measure::top5};
  EXPECT_EQ(Measures::kept_bytes(with, 10), 100 * sizeof(std::int64_t));
  EXPECT_EQ(Measures::kept_bytes(without, 10), 0u);
  Measures measures(with, 10);
  EXPECT_TRUE(measures.any());
  EXPECT_EQ(std::move(measures).take_classes()->classes(), 10);
  EXPECT_FALSE(std::move(measures).take_targets());
}

TEST(Measures, Top5NeedsNoMatrix) {
  const std::vector top5{Measure::top5}, both{Measure::top5, Measure::confusion};
  constexpr std::int64_t classes = 100000;
  EXPECT_EQ(Measures::memory_bytes(top5, classes, 2), 2 * classes * sizeof(float));
  Measures measures(top5, classes);
  std::vector<float> logits(classes);
  logits[7] = 3;
  const std::vector<std::int32_t> labels{7};
  measures.add(logits, {.labels = labels.data(), .samples = 1});
  const auto found = std::move(measures).take_classes();
  EXPECT_EQ(found->accuracy(1), 1);
  EXPECT_FALSE(found->has_matrix());
  EXPECT_NO_THROW(require_measurable(both, 4096));
  EXPECT_NO_THROW(require_measurable(top5, classes));
  EXPECT_TRUE(test::refuses(errors::not_measured, {"deck.toml:3: run.metrics: \"confusion\"", "4097", "4096"},
                            [&] { require_measurable(both, 4097, "deck.toml:3: "); }));
}

TEST(Measures, R2IsThatOfItsDefinitionInAnyOrder) {
  // Targets 3, -0.5, 2, 7 and predictions 2.5, 0, 2, 8: 0.9486 (scikit-learn's manual, r2_score).
  TargetMeasures one(1);
  one.add(std::vector<float>{2.5f, 0, 2, 8}, std::vector<float>{3, -0.5f, 2, 7});
  EXPECT_NEAR(one.r2()[0], 0.948608137, 1e-9);
  TargetMeasures two(2), other(2);
  two.add(std::vector<float>{0, 1, 1, 1}, std::vector<float>{0, 5, 1, 5});
  two.add(std::vector<float>{1, 1}, std::vector<float>{2, 5});
  other.add(std::vector<float>{1, 1}, std::vector<float>{2, 5});
  other.add(std::vector<float>{0, 1, 1, 1}, std::vector<float>{0, 5, 1, 5});
  EXPECT_EQ(two.r2()[0], 0.5);
  EXPECT_EQ(two.r2()[0], other.r2()[0]);
  EXPECT_TRUE(std::isnan(two.r2()[1])) << "a constant target";
  two.add(std::vector<float>{INFINITY, 1}, std::vector<float>{2, 5});
  EXPECT_TRUE(std::isnan(two.r2()[0]));
}

/// Of three targets: one that is predicted well, one badly, one that is constant.
TargetMeasures measures_of_three(float second = 0) {
  TargetMeasures measures(3);
  measures.add(std::vector<float>{1, 0, 5}, std::vector<float>{1, 2, 5});
  measures.add(std::vector<float>{2, second, 4}, std::vector<float>{2, 4, 5});
  return measures;
}

TEST(Measures, TheMeanR2LeavesOutConstantTargetsAlone) {
  const TargetMeasures measures = measures_of_three();
  EXPECT_EQ(measures.r2()[0], 1);
  EXPECT_EQ(measures.r2()[1], -9);  // 1 - (4 + 16) / 2
  EXPECT_EQ(measures.mean_r2(), -4);
  EXPECT_EQ(measures.constant_targets(), 1);
  EXPECT_TRUE(measures.is_constant(2));
  EXPECT_EQ(describe_r2(measures), "R2 -4 of the 2 of 3 targets that vary");
}

TEST(Measures, ANetworkThatPredictsNoNumberHasNoR2ToBeChosenBy) {
  for (const float wrong : {INFINITY, -INFINITY, std::nanf("")}) {
    const TargetMeasures measures = measures_of_three(wrong);
    EXPECT_EQ(measures.r2()[0], 1);
    EXPECT_TRUE(std::isnan(measures.r2()[1]));
    EXPECT_TRUE(std::isnan(measures.mean_r2())) << "not the 1 of the target that is left";
    EXPECT_EQ(measures.not_finite(), 1);
    EXPECT_EQ(measures.constant_targets(), 1) << "the second varies, whatever is predicted";
    EXPECT_EQ(describe_r2(measures), "R2 nan (1 prediction is inf or NaN)");
  }
}

TEST(Measures, ARankHearsOfPredictionsOfAnotherThatAreNotFinite) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const bool is_last = ranks.rank() == ranks.size() - 1;
  TargetMeasures measures(2);
  measures.add(std::vector<float>{1, 2, 3, 5}, std::vector<float>{1, 2, 3, 4});
  if (is_last) measures.add(std::vector<float>{2, INFINITY}, std::vector<float>{2, 3});
  measures.add_up(ranks);
  EXPECT_EQ(measures.not_finite(), 1);
  EXPECT_EQ(measures.not_finite(1), 1);
  EXPECT_EQ(measures.r2()[0], 1);
  EXPECT_TRUE(std::isnan(measures.r2()[1]));
  EXPECT_TRUE(std::isnan(measures.mean_r2()));
}

TEST(Measures, ATargetFarFromZeroVariesAllTheSame) {
  // Half of the deviation is predicted: R2 is 1 - (1/2)^2.
  for (const double deviation : {0.5, 0.0078125}) {  // exact in float
    TargetMeasures measures(1);
    const auto add = [&](double from_mean) {
      measures.add(std::vector<float>{static_cast<float>(1000 + from_mean / 2)},
                   std::vector<float>{static_cast<float>(1000 + from_mean)});
    };
    for (int i = 0; i < 50; ++i) {
      add(deviation);
      add(-deviation);
    }
    EXPECT_FALSE(measures.is_constant(0)) << deviation;
    EXPECT_NEAR(measures.r2()[0], 0.75, 1e-5) << deviation;
  }
  TargetMeasures constant(1);
  constant.add(std::vector<float>{1000, 1000}, std::vector<float>{1000, 1000.0001f});
  EXPECT_TRUE(constant.is_constant(0)) << "the rounding of a constant in float";
}

TEST(Measures, WhereNoTargetVariesR2IsUndefined) {
  TargetMeasures measures(2);
  measures.add(std::vector<float>{1, 2, 3, 4}, std::vector<float>{5, 6, 5, 6});
  EXPECT_TRUE(std::isnan(measures.mean_r2()));
  EXPECT_FALSE(std::signbit(measures.mean_r2())) << "evaluations.csv would have -nan";
  EXPECT_EQ(describe_r2(measures), "R2 undefined (no target varies)");
}

TEST(Measures, OfAConfusionMatrixAreWrittenInFewBytesOfMemory) {
  constexpr std::int64_t classes = 700;
  const TemporaryFolder folder;
  ClassMeasures measures(classes);
  std::vector<float> logits(classes);
  logits[2] = 1;
  const std::vector<std::int32_t> label{698};
  measures.add(logits, label);
  const ClassMeasures none(classes);
  const std::pair<DataPart, const ClassMeasures*> parts[] = {{DataPart::validation, &measures},
                                                             {DataPart::test, &none}};
  const long before = peak_bytes_from_now();
  write_confusion_file(folder / "confusion.json", 12, {"a \"b\""}, parts);
  EXPECT_LT(peak_bytes() - before, 1 << 20) << "a matrix has 4 MB";

  const auto document = nlohmann::json::parse(read_file(folder / "confusion.json"));
  EXPECT_EQ(document["step"], 12);
  EXPECT_EQ(document["classes"][0], "a \"b\"");
  EXPECT_EQ(document["classes"][699], "699");
  const auto& found = document["parts"]["validation"];
  ASSERT_EQ(found.size(), 700u);
  EXPECT_EQ(found[698][2], 1);
  EXPECT_EQ(found[2][698], 0);
  EXPECT_EQ(document["parts"]["test"][699].size(), 700u);
}

TEST(Measures, StateTheirBytes) {
  const std::vector crps{Measure::crps};
  EXPECT_EQ(Measures::memory_bytes(crps, 10, 6), 2 * 6 * 10 * sizeof(float) + 2 * 10 * sizeof(double))
      << "outputs and deviations of the samples, and the scaling";
}

TEST(Measures, OfManyTargetsHaveAMeanWithoutAListOfThem) {
  constexpr std::size_t targets = 100'000;
  TargetMeasures measures(targets);
  std::vector<float> values(2 * targets, 1.0f);
  for (std::size_t i = 0; i < targets; ++i) values[i] = static_cast<float>(i % 3);
  measures.add(values, values);
  const long before = peak_bytes_from_now();
  EXPECT_EQ(measures.mean_r2(), 1);
  EXPECT_EQ(peak_bytes() - before, 0);
}

}  // namespace mylos::measures_test

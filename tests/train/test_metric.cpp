// By which metric a run's best checkpoint and its patience go.
#include "mylos/train/evaluation/metric.hpp"

#include <gtest/gtest.h>

#include "data/builders.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/data/run/run_data.hpp"
#include "support/refusal.hpp"

namespace mylos::metric_test {

using namespace mylos::testing_support;

class WatchedMetric : public testing::Test {
 protected:
  [[nodiscard]] std::optional<Metric> watched() const {
    return watched_metric(options, *open_run_data(options));
  }

  TemporaryFolder folder;
  Options options = [this] {
    Options given;
    given.data.train = folder / "train.h5";
    write_images(folder / "train.h5", 20, 8, 2);
    given.data.batch = 4;
    return given;
  }();
};

TEST_F(WatchedMetric, IsNoneWhereTheDeckAsksForNone) {
  options.data.validation = 0.5;
  EXPECT_EQ(watched(), std::nullopt);
}

TEST_F(WatchedMetric, OfPatienceAloneIsTheLossOfTheValidationDataElseOfTheTestData) {
  options.run.patience = 2;
  options.data.test = options.data.train;
  EXPECT_EQ(watched(), (Metric{DataPart::test, Quantity::loss}));
  options.data.validation = 0.5;
  EXPECT_EQ(watched(), (Metric{DataPart::validation, Quantity::loss}));
  options.checkpoint.keep_best = "test.accuracy";
  EXPECT_EQ(watched(), (Metric{DataPart::test, Quantity::accuracy}));
}

TEST_F(WatchedMetric, OfPatienceWithoutAnEvaluationIsRefused) {
  options.run.patience = 2;
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_measured, {"run.patience = 2"},
                            [&] { static_cast<void>(watched()); }));
  options.checkpoint.keep_best = "train.loss";
  EXPECT_EQ(watched(), (Metric{DataPart::train, Quantity::loss}));
}

TEST_F(WatchedMetric, OfARolloutHasItsNumberOfSteps) {
  options.data.test = options.data.train;
  options.run.rollout_steps = 20;
  options.checkpoint.keep_best = "test.rollout20";
  const std::optional<Metric> metric = watched();
  EXPECT_EQ(metric, (Metric{DataPart::test, Quantity::rollout, 20}));
  EXPECT_EQ(name_of(*metric), "test.rollout20");
  EXPECT_TRUE(is_better(*metric, 0.1, 0.2));
  const EvaluationRow rows[] = {{.part = DataPart::validation, .rollout = 3},
                                {.part = DataPart::test, .rollout = 0.25}};
  EXPECT_EQ(value_in(rows, *metric), 0.25);
  options.checkpoint.keep_best = "test.rollout21";
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_measured, {"test.rollout21", "test.rollout20"},
                            [&] { static_cast<void>(watched()); }));
}

TEST(Metric, OfWhatIsGainedTheHigherIsBetterAndOfErrorsTheLower) {
  for (const Quantity gain : {Quantity::accuracy, Quantity::top5, Quantity::r2}) {
    EXPECT_TRUE(is_better({DataPart::test, gain}, 0.2, 0.1)) << name_of(Metric{DataPart::test, gain});
    EXPECT_FALSE(is_better({DataPart::test, gain}, 0.1, 0.2)) << name_of(Metric{DataPart::test, gain});
  }
  for (const Quantity error :
       {Quantity::loss, Quantity::rollout, Quantity::relative_l2, Quantity::relative_h1, Quantity::crps}) {
    EXPECT_TRUE(is_better({DataPart::test, error}, 0.1, 0.2)) << name_of(Metric{DataPart::test, error});
    EXPECT_FALSE(is_better({DataPart::test, error}, 0.2, 0.1)) << name_of(Metric{DataPart::test, error});
  }
}

TEST(RolloutSteps, AreANumberAfterTheName) {
  EXPECT_EQ(rollout_steps_of("rollout1"), 1);
  EXPECT_EQ(rollout_steps_of("rollout100000"), 100'000);
  for (const char* word :
       {"rollout", "rollout0", "rollout01", "rollout100001", "rollout1x", "rollouts2", "r2", ""})
    EXPECT_EQ(rollout_steps_of(word), 0) << word;
}

}  // namespace mylos::metric_test

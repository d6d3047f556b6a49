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
  EXPECT_EQ(watched(), (Metric{DataPart::test, "loss"}));
  options.data.validation = 0.5;
  EXPECT_EQ(watched(), (Metric{DataPart::validation, "loss"}));
  options.checkpoint.keep_best = "test.accuracy";
  EXPECT_EQ(watched(), (Metric{DataPart::test, "accuracy"}));
}

TEST_F(WatchedMetric, OfPatienceWithoutAnEvaluationIsRefused) {
  options.run.patience = 2;
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::not_measured, {"run.patience = 2"},
                            [&] { static_cast<void>(watched()); }));
  options.checkpoint.keep_best = "train.loss";
  EXPECT_EQ(watched(), (Metric{DataPart::train, "loss"}));
}

TEST_F(WatchedMetric, OfARolloutHasItsNumberOfSteps) {
  options.data.test = options.data.train;
  options.run.rollout_steps = 20;
  options.checkpoint.keep_best = "test.rollout20";
  const std::optional<Metric> metric = watched();
  EXPECT_EQ(metric, (Metric{DataPart::test, "rollout", 20}));
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
  for (const std::string_view gain : {"accuracy", "top5", "r2"}) {
    EXPECT_TRUE(is_better({DataPart::test, gain}, 0.2, 0.1)) << name_of(Metric{DataPart::test, gain});
    EXPECT_FALSE(is_better({DataPart::test, gain}, 0.1, 0.2)) << name_of(Metric{DataPart::test, gain});
  }
  for (const std::string_view error : {"loss", "rollout", "relative_l2", "relative_h1", "crps"}) {
    EXPECT_TRUE(is_better({DataPart::test, error}, 0.1, 0.2)) << name_of(Metric{DataPart::test, error});
    EXPECT_FALSE(is_better({DataPart::test, error}, 0.2, 0.1)) << name_of(Metric{DataPart::test, error});
  }
}

TEST(Metric, IsFoundByItsName) {
  for (const char* name : {"train.loss", "validation.accuracy", "test.top5", "validation.r2",
                           "test.relative_l2", "test.relative_h1", "validation.crps", "test.rollout20"})
    EXPECT_EQ(name_of(metric_of(name).value()), name);
  for (const char* name :
       {"", "loss", "train", "test.", "test.confusion", "test.rollout", "test.epoch", "other.loss"})
    EXPECT_FALSE(metric_of(name)) << name;
}

TEST(RolloutSteps, AreANumberAfterTheName) {
  EXPECT_EQ(rollout_steps_of("rollout1"), 1);
  EXPECT_EQ(rollout_steps_of("rollout100000"), 100'000);
  for (const char* word :
       {"rollout", "rollout0", "rollout01", "rollout100001", "rollout1x", "rollouts2", "r2", ""})
    EXPECT_EQ(rollout_steps_of(word), 0) << word;
}

}  // namespace mylos::metric_test

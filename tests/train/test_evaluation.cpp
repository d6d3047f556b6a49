// What an evaluation says of the samples of all ranks.
#include "mylos/train/evaluation/evaluation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/constant_pass.hpp"

namespace mylos::evaluation_test {

using namespace testing_support;  // NOLINT

TEST(Evaluation, ALossThatIsNotFiniteOnOneRankIsSoOnAll) {
  SmallRun run(small_options(DType::fp32));
  TrainingModel& model = run.trainer->model();
  const bool is_last = run.communicator->rank() == run.communicator->size() - 1;
  const auto loss_with = [&](float value) {
    ConstantPass pass(model.samples(), DType::fp32, is_last ? value : 0.5f);
    const Evaluation found = evaluate(run.trainer->quiesce(), {run.trainer->execution(), *run.engines, model},
                                      *run.communicator, pass);
    EXPECT_EQ(found.count, 2 * model.samples() * run.communicator->size());
    return found.loss;
  };
  EXPECT_TRUE(std::isfinite(loss_with(0.5f)));
  for (const float value : {std::numeric_limits<float>::infinity(), std::nanf("")})
    EXPECT_FALSE(std::isfinite(loss_with(value))) << value;
  EXPECT_TRUE(std::isfinite(loss_with(0.5f))) << "nothing is left behind";
}

}  // namespace mylos::evaluation_test

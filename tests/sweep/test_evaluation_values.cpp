// The values of a metric in an evaluations.csv.
#include "mylos/sweep/run/evaluation_values.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "mylos/base/error.hpp"

namespace mylos::evaluation_values_test {

TEST(EvaluationValues, AreThoseOfTheMetricsPartAndColumn) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / fmt::format("evaluation-values-{}.csv", getpid()))
          .string();
  std::ofstream(path) << "step,epoch,part,loss,accuracy,elapsed_s\n"
                         "10,1,train,0.9,,1\n10,1,validation,0.8,0.5,1\n"
                         "20,2,train,0.7,,2\n20,2,validation,0.6,0.75,2\n"
                         "30,3,train,0.7,,3\n30,3,validation,nan,0.75,3\n40,4,valid";
  const Metric loss{DataPart::validation, "loss"};
  const std::vector<EvaluatedValue> values = evaluated_values(path, loss);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[1].step, 20);
  EXPECT_EQ(values[1].value, 0.6);
  EXPECT_EQ(best_of(values, loss)->step, 20);
  const Metric accuracy{DataPart::validation, "accuracy"};
  EXPECT_EQ(best_of(evaluated_values(path, accuracy), accuracy)->step, 20) << "of equals the first";
  EXPECT_TRUE(evaluated_values(path, {DataPart::test, "loss"}).empty());
  EXPECT_TRUE(evaluated_values(path, {DataPart::validation, "r2"}).empty());
  EXPECT_TRUE(evaluated_values(path + ".none", loss).empty());
  std::int64_t damaged = 0;
  std::vector<double> rollouts;
  std::ofstream(path) << "step,part,rollout,elapsed_s\n10,test,0.5,1\n20,test,,2\n20,test\n30,test,x,3\n";
  damaged = read_evaluations(path, "test.rollout20",
                             [&](const EvaluatedValue& one) { rollouts.push_back(one.value); });
  ASSERT_EQ(rollouts.size(), 2u);
  EXPECT_TRUE(rollouts[0] == 0.5 && std::isnan(rollouts[1]));
  EXPECT_EQ(damaged, 2);
  // A regular file that cannot be read: there is no memory at 0.
  EXPECT_THROW(static_cast<void>(evaluated_values("/proc/self/mem", loss)), Error);
  EXPECT_FALSE(best_of({}, loss));
  std::filesystem::remove(path);
}

}  // namespace mylos::evaluation_values_test

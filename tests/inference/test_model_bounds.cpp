// Bounds and deviations of a Model, against the intervals' formula.
#include <gtest/gtest.h>

#include "inference/stored_models.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"
#include "train/engines.hpp"

namespace mylos::model_bounds_test {

using test::StridedArray;
using testing_support::AllocationsByLabel;

constexpr std::int64_t samples = 40;

class ModelBounds : public testing::Test {
 protected:
  void write(Loss loss, const std::optional<ConformalCalibration>& calibration) {
    Options options = test::vector_options(DType::bf16, loss);
    if (testing_support::has_tiles())
      options.kernels.gemm = GemmChoice::tiles;  // oneDNN allocates at every call
    const auto engines = make_engines(options.kernels);
    TrainingModel trained(make_chain(options.model, options.precision, 1, false), *engines, 4, 1 << 20, 1);
    test::set_lively_state(trained);
    const Normalizer normalizer{test::lively_scaling(6, 0.3, 1.7), test::lively_scaling(4, -2, 0.6)};
    test::write_network(ranks, file, trained,
                        {.deck = resolve(options), .normalizer = normalizer, .calibration = calibration});
  }
  static ConformalCalibration calibration(ConformalScore score) {
    return {.coverage = 0.9,
            .samples = 99,
            .split = "validation",
            .score = score,
            .quantiles = {0.5, 1, 0, 2.25}};
  }
  void fill(StridedArray<double>& x) {
    for (std::int64_t i = 0; i < x.size(); ++i) x.at(i) = std::sin(0.37 * static_cast<double>(i)) * 1.1;
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
};

TEST_F(ModelBounds, AreMeanAndQuantileOfAnyArray) {
  write(losses::Mse{}, calibration(ConformalScore::absolute));
  for (const std::int64_t piece : {std::int64_t{0}, std::int64_t{7}}) {
    Model model(file, {.max_samples = piece});
    EXPECT_EQ(model.coverage(), 0.9);
    EXPECT_FALSE(model.has_deviations());
    StridedArray<double> x({5, 8, 6}, {0, 2, 1}, 2);
    fill(x);
    StridedArray<float> y({5, 8, 4}, {2, 1, 0}, 1);
    StridedArray<float> plain({5, 8, 4}, {2, 1, 0}, 1);
    StridedArray<double> lower({5, 8, 4}, {1, 0, 2}, 2);
    StridedArray<float> upper({5, 8, 4}, {2, 0, 1}, 1);
    model.infer(exec, x.const_array(), plain.array());
    model.infer_uncertain(exec, x.const_array(),
                          {.mean = y.array(), .lower = lower.array(), .upper = upper.array()});
    exec.fence();
    const double quantiles[] = {0.5, 1, 0, 2.25};
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const auto mean = static_cast<double>(plain.at(i));
      EXPECT_EQ(y.at(i), plain.at(i));
      EXPECT_EQ(lower.at(i), static_cast<double>(static_cast<float>(mean - quantiles[i % 4])));
      EXPECT_EQ(upper.at(i), static_cast<float>(mean + quantiles[i % 4]));
    }
    EXPECT_EQ(lower.written(), lower.size());
    EXPECT_EQ(upper.written(), upper.size());
  }
}

TEST_F(ModelBounds, OfScaledScoresGrowWithTheDeviation) {
  write(losses::Gaussian{}, calibration(ConformalScore::scaled));
  Model model(file, {.max_samples = 7});
  EXPECT_TRUE(model.has_deviations());
  StridedArray<double> x({samples, 6}, {1, 0}, 1);
  fill(x);
  StridedArray<float> y({samples, 4}, {1, 0}, 1);
  StridedArray<float> deviation({samples, 4}, {1, 0}, 1);
  StridedArray<float> lower({samples, 4}, {1, 0}, 1);
  StridedArray<float> upper({samples, 4}, {1, 0}, 1);
  StridedArray<float> mean({samples, 4}, {1, 0}, 1);
  StridedArray<float> alone({samples, 4}, {1, 0}, 1);
  model.infer_uncertain(
      exec, x.const_array(),
      {.mean = y.array(), .deviation = deviation.array(), .lower = lower.array(), .upper = upper.array()});
  model.infer_uncertain(exec, x.const_array(), {.mean = mean.array(), .deviation = alone.array()});
  exec.fence();
  const double quantiles[] = {0.5, 1, 0, 2.25};
  bool differs = false;
  for (std::int64_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y.at(i), mean.at(i));
    EXPECT_EQ(deviation.at(i), alone.at(i));
    EXPECT_GT(deviation.at(i), 0);
    const double half = quantiles[i % 4] * static_cast<double>(deviation.at(i));
    EXPECT_EQ(lower.at(i), static_cast<float>(static_cast<double>(y.at(i)) - half));
    EXPECT_EQ(upper.at(i), static_cast<float>(static_cast<double>(y.at(i)) + half));
    differs |= deviation.at(i) != deviation.at(i % 4);
  }
  EXPECT_TRUE(differs);
}

TEST_F(ModelBounds, TakeTheMemoryThatIsStatedAndNoneInACall) {
  for (const ConformalScore score : {ConformalScore::absolute, ConformalScore::scaled}) {
    write(score == ConformalScore::scaled ? Loss(losses::Gaussian{}) : losses::Mse{}, calibration(score));
    const InferenceBytes stated = Model::memory_of(file, {.max_samples = 16});
    const AllocationsByLabel allocations;
    Model model(file, {.max_samples = 16});
    EXPECT_EQ(AllocationsByLabel::total(), stated.total());
    if (!testing_support::has_tiles()) continue;
    StridedArray<double> x({samples, 6}, {1, 0}, 1);
    StridedArray<double> y({samples, 4}, {1, 0}, 1);
    StridedArray<double> lower({samples, 4}, {1, 0}, 1);
    StridedArray<double> upper({samples, 4}, {1, 0}, 1);
    fill(x);
    const UncertainArrays arrays{.mean = y.array(), .lower = lower.array(), .upper = upper.array()};
    const ConstArray read = x.const_array();
    model.infer_uncertain(exec, read, arrays);
    const long before = testing_support::allocations();
    model.infer_uncertain(exec, read, arrays);
    EXPECT_EQ(testing_support::allocations(), before);
  }
}

TEST_F(ModelBounds, RefuseWhatTheFileDoesNotHave) {
  write(losses::Mse{}, {});
  Model model(file);
  StridedArray<float> x({samples, 6}, {1, 0}, 1);
  StridedArray<float> y({samples, 4}, {1, 0}, 1);
  StridedArray<float> other({samples, 4}, {1, 0}, 1);
  const auto refused = [&](ErrorId id, const char* part, const UncertainArrays& arrays) {
    return test::refuses(ExitCode::bad_input, id, {part},
                         [&] { model.infer_uncertain(exec, x.const_array(), arrays); });
  };
  EXPECT_EQ(model.coverage(), 0);
  EXPECT_TRUE(
      refused(errors::missing_dataset, "mylos calibrate", {.mean = y.array(), .upper = other.array()}));
  EXPECT_TRUE(refused(errors::missing_dataset, "gaussian", {.mean = y.array(), .deviation = other.array()}));
  EXPECT_TRUE(refused(errors::bad_call, "neither", {.mean = y.array()}));
  write(losses::Mse{}, calibration(ConformalScore::absolute));
  Model calibrated(file);
  EXPECT_TRUE(test::refuses(errors::bad_call, {"y and lower overlap"}, [&] {
    calibrated.infer_uncertain(exec, x.const_array(), {.mean = y.array(), .lower = y.array()});
  }));
  EXPECT_EQ(y.written(), 0);
}

}  // namespace mylos::model_bounds_test

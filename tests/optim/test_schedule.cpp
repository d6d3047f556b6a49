// Learning rates against PyTorch's schedulers and their closed forms.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "mylos/optim/schedule.hpp"

namespace mylos::schedule_test {

LearningRate rate_of(const ScheduleOptions& schedule, std::int64_t run_steps = 10) {
  OptimizerOptions optimizer;
  optimizer.lr = 0.8;
  return learning_rate(optimizer, schedule, run_steps);
}

// PyTorch 2.15, optimizer SGD(lr=0.8), lr read before each of 11 steps, of torch.optim.lr_scheduler:
//   CosineAnnealingLR(T_max=10, eta_min=0.05), StepLR(step_size=3, gamma=0.5),
//   LinearLR(start_factor=1, end_factor=0.0625, total_iters=10)
constexpr std::array torch_cosine{0.8,   0.781646193611, 0.728381372891, 0.645419469610, 0.540881372891,
                                  0.425, 0.309118627109, 0.204580530390, 0.121618627109, 0.068353806389,
                                  0.05};
constexpr std::array torch_step{0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.1, 0.1};
constexpr std::array torch_linear{0.8, 0.725, 0.65, 0.575, 0.5, 0.425, 0.35, 0.275, 0.2, 0.125, 0.05};

TEST(Schedule, AgreesWithPyTorch) {
  const LearningRate cosine = rate_of({.type = ScheduleType::cosine, .final_lr = 0.05});
  const LearningRate step = rate_of({.type = ScheduleType::step, .step_size = 3, .factor = 0.5});
  const LearningRate linear = rate_of({.type = ScheduleType::linear, .final_lr = 0.05});
  const LearningRate constant = rate_of({});
  for (std::int64_t u = 0; u <= 10; ++u) {
    const auto i = static_cast<std::size_t>(u);
    EXPECT_NEAR(cosine.at(u), torch_cosine[i], 1e-12);
    EXPECT_NEAR(step.at(u), torch_step[i], 1e-12);
    EXPECT_NEAR(linear.at(u), torch_linear[i], 1e-12);
    EXPECT_EQ(constant.at(u), 0.8);
  }
}

TEST(Schedule, WarmUpRisesInEqualStepsToTheFullRate) {
  for (const ScheduleType type :
       {ScheduleType::constant, ScheduleType::step, ScheduleType::linear, ScheduleType::cosine}) {
    const LearningRate rate = rate_of({.type = type, .warmup = 4, .step_size = 100}, 1000);
    EXPECT_NEAR(rate.at(0), 0.8 / 5, 1e-15);  // not 0: the first update moves
    EXPECT_NEAR(rate.at(1), 0.8 * 2 / 5, 1e-15);
    EXPECT_NEAR(rate.at(3), 0.8 * 4 / 5, 1e-15);
    EXPECT_NEAR(rate.at(4), 0.8, 1e-15);
  }
}

TEST(Schedule, AfterWarmUpTheWholeCurveFollows) {
  const LearningRate cosine =
      rate_of({.type = ScheduleType::cosine, .warmup = 5, .steps = 25, .final_lr = 0.1});
  const LearningRate linear =
      rate_of({.type = ScheduleType::linear, .warmup = 5, .steps = 25, .final_lr = 0.1});
  const LearningRate step = rate_of({.type = ScheduleType::step, .warmup = 5, .step_size = 7, .factor = 0.1});
  for (int u = 5; u <= 25; ++u) {
    const double t = (u - 5) / 20.0;
    EXPECT_NEAR(cosine.at(u), 0.1 + 0.35 * (1 + std::cos(std::numbers::pi * t)), 1e-12);
    EXPECT_NEAR(linear.at(u), 0.8 - 0.7 * t, 1e-12);
    EXPECT_NEAR(step.at(u), 0.8 * std::pow(0.1, (u - 5) / 7), 1e-12);
  }
}

TEST(Schedule, StaysAtItsEnd) {
  const LearningRate cosine = rate_of({.type = ScheduleType::cosine, .steps = 8, .final_lr = 0.05});
  const LearningRate linear = rate_of({.type = ScheduleType::linear, .steps = 8, .final_lr = 0.05});
  for (const std::int64_t u : {8, 9, 1000000}) {
    EXPECT_NEAR(cosine.at(u), 0.05, 1e-12);
    EXPECT_NEAR(linear.at(u), 0.05, 1e-12);
  }
}

TEST(Schedule, WithoutStepsOfItsOwnItEndsWithTheRun) {
  EXPECT_NEAR(rate_of({.type = ScheduleType::linear}, 100).at(50), 0.4, 1e-12);
  EXPECT_NEAR(rate_of({.type = ScheduleType::linear, .steps = 200}, 100).at(50), 0.6, 1e-12);
}

TEST(Schedule, AWarmUpAsLongAsTheRunIsNoDivisionByZero) {
  const LearningRate rate = rate_of({.type = ScheduleType::cosine, .warmup = 10, .final_lr = 0.05}, 10);
  EXPECT_NEAR(rate.at(9), 0.8 * 10 / 11, 1e-12);
  EXPECT_TRUE(std::isfinite(rate.at(10)));
}

}  // namespace mylos::schedule_test

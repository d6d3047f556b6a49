// Learning rates against PyTorch's schedulers and closed forms.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "mylos/optim/update/schedule.hpp"

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
       {ScheduleType::constant, ScheduleType::step, ScheduleType::linear, ScheduleType::cosine,
        ScheduleType::multistep, ScheduleType::exponential, ScheduleType::polynomial,
        ScheduleType::cosine_restarts, ScheduleType::wsd}) {
    const LearningRate rate =
        rate_of({.type = type, .warmup = 4, .step_size = 100, .milestones = {100}, .period = 100}, 1000);
    EXPECT_NEAR(rate.at(0), 0.8 / 5, 1e-15);  // not 0: the first update changes weights
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

// The recursions of PyTorch's schedulers from their documentation.
TEST(Schedule, MultistepMultipliesAtEachMilestone) {
  const LearningRate rate =
      rate_of({.type = ScheduleType::multistep, .factor = 0.5, .milestones = {2, 3, 7}});
  const LearningRate late =
      rate_of({.type = ScheduleType::multistep, .warmup = 3, .factor = 0.5, .milestones = {3, 8}});
  double expected = 0.8;
  for (int u = 0; u < 20; ++u) {
    if (u == 2 || u == 3 || u == 7) expected *= 0.5;
    EXPECT_NEAR(rate.at(u), expected, 1e-15);
    EXPECT_NEAR(late.at(u + 3), u + 3 < 8 ? 0.4 : 0.2, 1e-15);
  }
}

TEST(Schedule, ExponentialMultipliesWithEachUpdate) {
  const LearningRate each = rate_of({.type = ScheduleType::exponential, .step_size = 1, .factor = 0.9});
  const LearningRate slow = rate_of({.type = ScheduleType::exponential, .step_size = 40, .factor = 0.25});
  double expected = 0.8;
  for (int u = 0; u < 60; ++u) {
    EXPECT_NEAR(each.at(u), expected, 1e-13);
    expected *= 0.9;
  }
  EXPECT_NEAR(slow.at(20), 0.4, 1e-15);
  EXPECT_NEAR(slow.at(40), 0.2, 1e-15);
  EXPECT_NEAR(slow.at(60), 0.1, 1e-15);
}

TEST(Schedule, PolynomialFollowsPyTorchsRecurrence) {
  const LearningRate rate = rate_of({.type = ScheduleType::polynomial, .steps = 12, .power = 2.5});
  double expected = 0.8;
  for (int u = 0; u <= 15; ++u) {
    if (u > 0 && u <= 12) expected *= std::pow((1 - u / 12.0) / (1 - (u - 1) / 12.0), 2.5);
    EXPECT_NEAR(rate.at(u), expected, 1e-14) << u;
  }
  const LearningRate raised = rate_of({.type = ScheduleType::polynomial, .final_lr = 0.3, .power = 2});
  EXPECT_NEAR(raised.at(5), 0.3 + 0.5 * 0.25, 1e-15);
  EXPECT_NEAR(raised.at(99), 0.3, 1e-15);
}

TEST(Schedule, CosineRestartsBeginsAnewWithLongerCycles) {
  for (const std::int64_t growth : {1, 2, 3}) {
    const LearningRate rate = rate_of({.type = ScheduleType::cosine_restarts,
                                       .warmup = 4,
                                       .final_lr = 0.05,
                                       .period = 5,
                                       .growth = growth});
    std::int64_t into = 0;
    std::int64_t cycle = 5;
    for (std::int64_t u = 4; u < 200; ++u) {
      const double angle = std::numbers::pi * static_cast<double>(into) / static_cast<double>(cycle);
      EXPECT_NEAR(rate.at(u), 0.05 + 0.5 * 0.75 * (1 + std::cos(angle)), 1e-12) << growth << ' ' << u;
      if (++into < cycle) continue;
      into = 0;
      cycle *= growth;
    }
  }
}

TEST(Schedule, OneCycleRisesAndFallsAsPyTorchsDoes) {
  // OneCycleLR(max_lr=0.8, total_steps=20, pct_start=0.3, div_factor=25, final_div_factor=1e4)
  const double start = 0.8 / 25;
  const double end = start / 1e4;
  const LearningRate rate = rate_of({.type = ScheduleType::one_cycle, .steps = 20, .final_lr = end});
  const auto anneal = [](double from, double to, double share) {
    return to + (from - to) / 2 * (std::cos(std::numbers::pi * share) + 1);
  };
  for (int u = 0; u < 20; ++u) {
    const double expected = u <= 5 ? anneal(start, 0.8, u / 5.0) : anneal(0.8, end, (u - 5) / 14.0);
    EXPECT_NEAR(rate.at(u), expected, 1e-14) << u;
  }
  EXPECT_NEAR(rate.at(0), start, 1e-15);
  EXPECT_NEAR(rate.at(19), end, 1e-15);
  EXPECT_NEAR(rate.at(1000), end, 1e-15);
}

/// The phases of a schedule are fractions of its updates, not whole updates, as in OneCycleLR: a phase ends
/// at float(pct_start * total_steps) - 1.
TEST(Schedule, AOneCyclePhaseMayEndBetweenTwoUpdates) {
  const auto anneal = [](double from, double to, double share) {
    return to + (from - to) / 2 * (std::cos(std::numbers::pi * share) + 1);
  };
  for (const int steps : {2, 3, 5, 11, 17}) {
    for (const double rise : {0.05, 0.3, 0.55}) {
      const LearningRate rate =
          rate_of({.type = ScheduleType::one_cycle, .steps = steps, .final_lr = 0.01, .rise_share = rise});
      const double peak = rise * steps - 1;
      for (int u = 0; u < steps; ++u) {
        const double expected =
            u <= peak ? anneal(0.8 / 25, 0.8, u / peak) : anneal(0.8, 0.01, (u - peak) / (steps - 1 - peak));
        EXPECT_NEAR(rate.at(u), expected, 1e-14) << steps << ' ' << rise << ' ' << u;
      }
    }
  }
}

TEST(Schedule, AOneCycleOfFewUpdatesStaysFinite) {
  for (std::int64_t steps = 1; steps < 5; ++steps) {
    const LearningRate rate = rate_of({.type = ScheduleType::one_cycle, .steps = steps, .final_lr = 0.1});
    for (int u = 0; u < 6; ++u) {
      EXPECT_GE(rate.at(u), 0.8 * 0.04 - 1e-15);
      EXPECT_LE(rate.at(u), 0.8 + 1e-15);
    }
  }
}

TEST(Schedule, WarmUpStableDecayFallsOverTheLastUpdates) {
  for (const double power : {1.0, 0.5}) {
    const LearningRate rate = rate_of({.type = ScheduleType::wsd,
                                       .warmup = 10,
                                       .steps = 100,
                                       .final_lr = 0.2,
                                       .power = power,
                                       .decay_share = 0.2});
    for (int u = 10; u <= 80; ++u) EXPECT_NEAR(rate.at(u), 0.8, 1e-15);
    for (int u = 80; u <= 100; ++u)
      EXPECT_NEAR(rate.at(u), 0.2 + 0.6 * std::pow((100 - u) / 20.0, power), 1e-14) << u;
    EXPECT_NEAR(rate.at(5000), 0.2, 1e-15);
  }
}

TEST(Schedule, WarmUpStableDecayMayBeginToFallBetweenTwoUpdates) {
  const std::array expected{0.8, 0.8, 0.8 * 2 / 3, 0.0};  // of 4 and 5 updates the last 1.2 and 1.5
  const LearningRate four =
      rate_of({.type = ScheduleType::wsd, .steps = 4, .final_lr = 0, .power = 1, .decay_share = 0.3});
  const LearningRate five =
      rate_of({.type = ScheduleType::wsd, .steps = 5, .final_lr = 0, .power = 1, .decay_share = 0.3});
  EXPECT_NEAR(four.at(3), 0.8 * (1 - 0.2 / 1.2), 1e-15);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(five.at(static_cast<std::int64_t>(i) + 2), expected[i], 1e-15) << i;
  const LearningRate short_run =
      rate_of({.type = ScheduleType::wsd, .steps = 5, .final_lr = 0.1, .decay_share = 0.1});
  EXPECT_EQ(short_run.at(4), 0.8) << "the last half update falls";
  EXPECT_NEAR(short_run.at(5), 0.1, 1e-15);
  EXPECT_EQ(rate_of({.type = ScheduleType::wsd, .steps = 100, .decay_share = 0.07}).decay, 7);
}

}  // namespace mylos::schedule_test

// The detectors, over steps that are made up: what they find, since when, once the numbers say so and not
// before.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "checkpoint/checkpoint_builders.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/train/health/health_watch.hpp"

namespace mylos::health_watch_test {

Options usual_options() {
  Options options;
  options.optimizer.lr = 1e-3;
  options.health.every = 1;
  return options;
}

/// Sound steps, until a test changes one.
StepRecord step_of(std::uint64_t number, double loss = 1, double norm = 1) {
  return {.step = number,
          .updates = number,
          .rows = 32,
          .loss = loss,
          .gradient_norm = norm,
          .lr = 1e-3f,
          .scale = 1024};
}

ParameterHealth sound() {
  return {.gradient_squares = 1,
          .weight_squares = 100,
          .change_squares = 1e-4,
          .largest_gradient = 0.5f,
          .largest_weight = 2,
          .count = 100};
}

struct Watched {
  explicit Watched(Options given = usual_options(), bool dynamic = true)
      : options(std::move(given)),
        watch(options, dynamic, {{"head/weight", true}, {"head/bias", false}, {"", true}}) {}

  std::vector<RunEvent> see(const StepRecord& step) {
    const HealthRecord health{step.step, parameters};
    std::vector<RunEvent> found;
    watch.see(step, &health, found);
    for (const RunEvent& event : found) all.push_back(event);
    return found;
  }
  /// Sound steps from `from` to `to`, the loss falling with a little noise.
  void see_sound(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step <= to; ++step) {
      const double noise = std::sin(static_cast<double>(step) * 12.9898) * 0.1;
      see(step_of(step, 2.0 / (1 + 0.01 * static_cast<double>(step)) + noise));
    }
  }
  [[nodiscard]] std::vector<std::string> causes() const {
    std::vector<std::string> names;
    for (const RunEvent& event : all) names.push_back(event.cause);
    return names;
  }

  Options options;
  HealthWatch watch;
  std::vector<ParameterHealth> parameters{sound(), sound(), sound()};
  std::vector<RunEvent> all;
};

TEST(HealthWatch, SaysNothingOfASoundRun) {
  Watched run;
  run.see_sound(1, 1000);
  EXPECT_TRUE(run.all.empty()) << run.all.front().text;
}

TEST(HealthWatch, FindsNothingInALossThatIsAllNoise) {
  Watched run;
  std::mt19937 generator(1);
  std::normal_distribution<double> noise;
  for (std::uint64_t step = 1; step <= 5000; ++step) run.see(step_of(step, std::exp(0.5 * noise(generator))));
  EXPECT_TRUE(run.all.empty()) << run.all.front().text;
}

TEST(HealthWatch, TellsALossThatJumpsAndSinceWhen) {
  for (const double factor : {3.0, 30.0}) {
    Watched run;
    run.see_sound(1, 600);
    for (std::uint64_t step = 601; step <= 605; ++step) run.see(step_of(step, 0.8 * factor));
    ASSERT_EQ(run.causes(), std::vector<std::string>{health_cause::loss}) << factor;
    EXPECT_EQ(run.all[0].step, 601u);
    EXPECT_NE(run.all[0].text.find("optimizer.lr = 0.0003"), std::string::npos) << run.all[0].text;
  }
}

TEST(HealthWatch, TakesNoTrembleOfAConvergedLossForAJump) {
  Watched run;
  run.see(step_of(1, 2));
  for (std::uint64_t step = 2; step <= 300; ++step)
    run.see(step_of(step, 1e-3 + 1e-6 * static_cast<double>(step % 7)));
  for (std::uint64_t step = 301; step <= 310; ++step) run.see(step_of(step, 0.02));
  EXPECT_TRUE(run.all.empty()) << run.all[0].text;
  for (std::uint64_t step = 311; step <= 500; ++step) run.see(step_of(step, 1e-3));
  for (std::uint64_t step = 501; step <= 505; ++step) run.see(step_of(step, 0.04));
  EXPECT_EQ(run.causes(), std::vector<std::string>{health_cause::loss});
}

TEST(HealthWatch, TakesOneBadBatchForNoJump) {
  Watched run;
  run.see_sound(1, 150);
  run.see(step_of(151, 100));
  run.see(step_of(152, 100));
  run.see_sound(153, 400);
  EXPECT_TRUE(run.all.empty());
}

TEST(HealthWatch, TellsNormsThatVanishOrExplode) {
  Watched run;
  run.see_sound(1, 100);
  for (std::uint64_t step = 101; step <= 105; ++step) run.see(step_of(step, 1, 1e-8));
  ASSERT_EQ(run.causes(), std::vector<std::string>{health_cause::vanishing});
  EXPECT_EQ(run.all[0].step, 101u);
  run.parameters[0].gradient_squares = 1e6;  // a norm of 1000: most of it, and not in itself too much
  run.see(step_of(106, 1, 2e4));
  ASSERT_EQ(run.all.size(), 2u);
  EXPECT_EQ(run.all[1].cause, health_cause::exploding);
  EXPECT_EQ(run.all[1].subject, "");
  EXPECT_NE(run.all[1].text.find("most of it in head/weight"), std::string::npos) << run.all[1].text;
  EXPECT_NE(run.all[1].text.find("optimizer.clip_norm = 1 "), std::string::npos) << run.all[1].text;
}

TEST(HealthWatch, AdvisesToClipByTheNormsThatDoNotExplode) {
  Watched run;
  for (std::uint64_t step = 1; step <= 100; ++step) run.see(step_of(step, 1, step % 5 < 2 ? 3 : 2e4));
  ASSERT_EQ(run.all.size(), 60u);
  EXPECT_EQ(run.all.back().cause, health_cause::exploding);
  EXPECT_NE(run.all.back().text.find("optimizer.clip_norm = 3 (the median norm of the last 39 steps is 3)"),
            std::string::npos)
      << run.all.back().text;
}

TEST(HealthWatch, AdvisesToClipANormThatStaysHigh) {
  Watched run;
  for (std::uint64_t step = 1; step <= 99; ++step) run.see(step_of(step, 1, 30));
  EXPECT_TRUE(run.all.empty());
  run.see(step_of(100, 1, 30));
  ASSERT_EQ(run.causes(), std::vector<std::string>{health_cause::high_norm});
  EXPECT_EQ(run.all[0].step, 1u);
  EXPECT_NE(run.all[0].text.find("optimizer.clip_norm = 30"), std::string::npos) << run.all[0].text;

  Options clipped = usual_options();
  clipped.optimizer.clip_norm = 1;
  Watched other(clipped);
  for (std::uint64_t step = 1; step <= 200; ++step) other.see(step_of(step, 1, 30));
  EXPECT_TRUE(other.all.empty());
}

TEST(HealthWatch, TellsThatManyStepsAreSkippedButNotOfAScaleThatStartsTooHigh) {
  Watched run;
  StepRecord skipped = step_of(1);
  skipped.overflow = 1;
  skipped.updates = 0;
  for (int i = 0; i < 150; ++i) run.see(skipped);
  EXPECT_TRUE(run.all.empty());
  run.see_sound(151, 240);
  skipped.updates = 90;
  for (int i = 0; i < 10; ++i) run.see(skipped);
  run.see_sound(250, 255);
  EXPECT_TRUE(run.all.empty()) << run.all[0].text;
  run.see(skipped);
  ASSERT_FALSE(run.all.empty());
  EXPECT_EQ(run.all[0].cause, health_cause::skipped);
  EXPECT_NE(run.all[0].text.find("growth_interval = 4000"), std::string::npos) << run.all[0].text;
}

/// More than 5 % of 200 steps, long before there are so many.
TEST(HealthWatch, TellsAtOnceThatManyStepsAreSkipped) {
  Watched run;
  run.see_sound(1, 3);
  StepRecord skipped = step_of(4);
  skipped.overflow = 1;
  skipped.updates = 2;
  for (int i = 0; i < 10; ++i) run.see(skipped);
  EXPECT_TRUE(run.all.empty()) << run.all[0].text;
  run.see(skipped);
  ASSERT_FALSE(run.all.empty());
  EXPECT_NE(run.all[0].text.find("11 of the last 1"), std::string::npos) << run.all[0].text;
}

TEST(HealthWatch, TellsAScaleAtItsFloorWithTheParameterAndOneAtItsCap) {
  Options options = usual_options();
  options.precision.scaler.min_scale = 8;
  Watched run(options);
  StepRecord step = step_of(1);
  step.scale = 8;
  EXPECT_TRUE(run.see(step).empty());
  step.overflow = 2;
  run.parameters[1].non_finite = 3;
  std::vector<RunEvent> found = run.see(step);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, health_cause::floor);
  EXPECT_EQ(found[0].subject, "head/bias");
  step.overflow = 0;
  step.scale = 16777216;
  found = run.see(step);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, health_cause::cap);

  Watched fixed(options, false);
  step.overflow = 1;
  EXPECT_TRUE(fixed.see(step).empty());
}

TEST(HealthWatch, TellsOfParametersWhatLastsForSomeLooks) {
  Watched run;
  run.parameters[0].zeros = 100;  // all
  run.parameters[1].zeros = 80;
  run.see_sound(1, 2);
  EXPECT_TRUE(run.all.empty());
  run.see_sound(3, 9);
  ASSERT_EQ(run.causes(), std::vector<std::string>{health_cause::dead_layer});
  EXPECT_EQ(run.all[0].subject, "head/weight");
  run.see_sound(10, 10);
  ASSERT_EQ(run.all.size(), 2u);
  EXPECT_EQ(run.all[1].cause, health_cause::dead_units);
  EXPECT_EQ(run.all[1].subject, "head/bias");
}

TEST(HealthWatch, JudgesUpdatesWhileTheLearningRateIsNotAtItsEnd) {
  for (const double change : {1e-14, 4e3}) {
    Watched run;
    run.parameters[0].change_squares = change;
    StepRecord step = step_of(1);
    step.lr = 1e-5f;
    for (int i = 0; i < 20; ++i) run.see(step);
    EXPECT_TRUE(run.all.empty());
    step.lr = 1e-3f;
    for (int i = 0; i < 10; ++i) run.see(step);
    ASSERT_EQ(run.causes(), std::vector<std::string>{health_cause::update_ratio}) << change;
    EXPECT_EQ(run.all[0].subject, "head/weight");
  }
}

TEST(HealthWatch, SaysNothingOfWhatIsIgnoredAndOfThresholdsThatAreOff) {
  Watched run;
  run.parameters[2] = {.zeros = 100, .count = 100};
  run.see_sound(1, 50);
  EXPECT_TRUE(run.all.empty());

  Options off = usual_options();
  off.health.vanishing_norm = off.health.exploding_norm = off.health.high_norm = 0;
  off.health.loss_factor = off.health.loss_deviations = off.health.skipped_share = 0;
  off.health.least_update_ratio = off.health.largest_update_ratio = off.health.dead_share = 0;
  Watched silent(off);
  silent.parameters[0] = {
      .gradient_squares = 1e20, .weight_squares = 1, .change_squares = 1e20, .count = 100};
  silent.see_sound(1, 150);
  for (std::uint64_t step = 151; step < 300; ++step)
    silent.see(step_of(step, 1e10, step % 2 == 0 ? 0 : 1e20));
  EXPECT_TRUE(silent.all.empty()) << silent.all.front().text;
}

TEST(HealthWatch, GoesOnFromACheckpointAsIfThereHadBeenNone) {
  RankGroup ranks(MPI_COMM_WORLD, 30);
  const test::SharedFolder folder(ranks);
  const auto trouble = [](Watched& run, std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t step = from; step <= to; ++step) {
      run.parameters[0].zeros = step > 148 ? 100 : 0;
      run.see(
          step_of(step, step > 150 ? 9 : 1 + 0.01 * static_cast<double>(step % 7), step > 149 ? 1e-9 : 30));
    }
  };
  Watched whole;
  trouble(whole, 1, 200);
  EXPECT_GE(whole.all.size(), 4u);
  for (const std::uint64_t cut : {60u, 99u, 149u, 150u, 153u, 154u}) {
    Watched first;
    trouble(first, 1, cut);
    CheckpointState saved;
    first.watch.save(saved);
    const std::string file = folder.path() + "/watch.h5";
    write_checkpoint_file(ranks, file, {}, saved);
    Watched second;
    CheckpointState room;
    const CheckpointReader reader(ranks, file);
    second.watch.make_room(reader, room);
    reader.read(room);
    second.watch.require_valid(file);
    second.all = first.all;
    trouble(second, cut + 1, 200);
    EXPECT_EQ(second.all, whole.all) << cut;
    ranks.barrier();
  }
}

}  // namespace mylos::health_watch_test

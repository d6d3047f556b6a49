// Faults that are put into a training step: its health says which of them, in which layer and tensor, on
// which rank and in which step.
#include <gtest/gtest.h>

#include "mylos/train/health/fault_replay.hpp"
#include "mylos/train/run/components/run_health.hpp"
#include "train/faulty_block.hpp"
#include "train/synthetic.hpp"

namespace mylos::health_faults_test {

using namespace testing_support;  // NOLINT

Options watched_options(DType compute = DType::bf16) {
  Options options = small_options(compute);
  options.health.every = 1;
  return options;
}

/// A run that is looked at after every step.
struct WatchedRun {
  template <class ChangeChain>
  WatchedRun(const Options& options, ChangeChain&& change)
      : run(options, change), health(options, *run.trainer, "") {}
  explicit WatchedRun(const Options& options) : WatchedRun(options, [](Chain&) {}) {}

  StepState step() {
    const StepState state = run.step();
    for (const RunEvent& event : health.poll(*run.trainer, static_cast<std::int64_t>(state.step)))
      found.push_back(event);
    return state;
  }
  void step_to(std::uint64_t last) {
    while (run.trainer->read_state().step < last) step();
  }
  /// Masters of a parameter become factor · value + shift.
  void change(const std::string& path, float factor, float shift) {
    ParameterStore& parameters = run.trainer->model().parameters();
    for (const ParameterSlot& slot : parameters.layout().slots) {
      if (slot.path() != path) continue;
      std::vector<float> values = test::values_of(parameters.master(slot));
      for (float& value : values) value = factor * value + shift;
      test::set_values(parameters.master(slot), values);
    }
    run.trainer->refresh_weights();
  }
  /// The first event of this cause and subject; fails the test where there is none.
  [[nodiscard]] RunEvent first(const char* cause, const std::string& subject) const {
    for (const RunEvent& event : found)
      if (event.cause == cause && event.subject == subject) return event;
    ADD_FAILURE() << "no \"" << cause << "\" of \"" << subject << "\" among " << found.size();
    return {};
  }

  SmallRun run;
  RunHealth health;
  std::vector<RunEvent> found;
};

const std::vector<std::pair<std::string, std::uint64_t>> faults{
    {"hidden1", 3}, {"hidden2", 8}, {"hidden1", 21}, {"hidden2", 40}};

TEST(HealthFaults, ASoundRunHasNone) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    WatchedRun watched(watched_options(type));
    watched.step_to(100);
    EXPECT_TRUE(watched.found.empty()) << name_of(type) << ": " << watched.found.front().text;
  }
}

TEST(HealthFaults, FrozenParametersHaveNone) {
  Options options = watched_options(DType::fp32);
  options.optimizer.groups = {{{"hidden1/*"}, {}, {}, true}};
  WatchedRun watched(options);
  watched.step_to(12);
  EXPECT_TRUE(watched.found.empty()) << watched.found.front().text;
}

TEST(HealthFaults, GradientsThatVanishBehindSmallWeights) {
  for (const auto& [layer, step] : faults) {
    WatchedRun watched(watched_options(DType::fp32));
    watched.step_to(step - 1);
    // What lies behind these weights has no gradient: the layer's own input is the next one's concern.
    const std::string above = layer == "hidden1" ? "hidden2/weight" : "head/weight";
    for (int i = 0; i < 3; ++i) {
      watched.change(above, 0, 1e-10f);
      watched.step();
    }
    EXPECT_EQ(watched.first(health_cause::vanishing, layer + "/weight").step, step + 2);
    for (const RunEvent& event : watched.found)
      EXPECT_NE(event.subject, "head/weight") << "has a gradient: " << event.text;
  }
}

TEST(HealthFaults, GradientsThatExplode) {
  for (const auto& [layer, step] : faults) {
    WatchedRun watched(watched_options());
    watched.step_to(step - 1);
    EXPECT_TRUE(watched.found.empty());
    watched.change(layer == "hidden1" ? "hidden2/weight" : "head/weight", 1e6f, 0);
    watched.step();
    EXPECT_EQ(watched.first(health_cause::exploding, layer + "/weight").step, step);
  }
}

TEST(HealthFaults, ALayerThatDies) {
  for (const auto& [layer, step] : faults) {
    WatchedRun watched(watched_options());
    watched.step_to(step - 1);
    watched.change(layer + "/bias", 0, -1e4f);
    watched.step_to(step + 10);
    EXPECT_EQ(watched.first(health_cause::dead_layer, layer + "/weight").step, step + 2);
    EXPECT_EQ(watched.first(health_cause::dead_layer, layer + "/bias").step, step + 2);
  }
}

TEST(HealthFaults, ALossThatJumps) {
  for (const std::uint64_t step : {50u, 60u, 75u, 100u}) {
    Options options = watched_options();
    options.optimizer.lr = 1e-4;  // so that what is broken stays so for some steps
    WatchedRun watched(options);
    watched.step_to(step - 1);
    EXPECT_TRUE(watched.found.empty());
    watched.change("head/weight", -60, 0);
    watched.step_to(step + 10);
    EXPECT_EQ(watched.first(health_cause::loss, "").step, step);
  }
}

TEST(HealthFaults, AScaleAtItsFloorAndTheTensorThatOverflows) {
  for (const std::uint64_t step : {2u, 11u}) {
    for (const char* tensor : {"weight", "bias"}) {
      Options options = watched_options(DType::fp16);
      options.precision.scaler.initial_scale = options.precision.scaler.min_scale = 256;
      const FaultPlan plan{std::string(tensor) + " gradient", step - 1, step - 1};
      WatchedRun watched(options, [&](Chain& chain) { make_faulty(chain, 1, plan); });
      watched.step_to(step + 1);
      EXPECT_EQ(watched.first(health_cause::floor, std::string("hidden2/") + tensor).step, step);
    }
  }
}

TEST(HealthFaults, WhatIsNotFiniteAndOnWhichRank) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  struct Case {
    std::size_t block;
    const char* tensor;
    const char* named_layer;
    const char* named_tensor;
  };
  const std::vector<Case> cases{{0, "output", "hidden1", "output"},
                                {1, "weight gradient", "hidden2", "weight gradient"},
                                {0, "bias gradient", "hidden1", "bias gradient"},
                                {1, "input gradient", "hidden1", "output gradient"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& one = cases[i];
    const std::uint64_t step = 2 + 3 * i;
    const int culprit = static_cast<int>(i) % size;
    WatchedRun watched(watched_options(), [&](Chain& chain) {
      if (rank == culprit) make_faulty(chain, one.block, {one.tensor, step - 1, step - 1});
    });
    watched.step_to(step - 1);
    const StepState state = watched.step();
    watched.run.batches->seek(step - 1);
    const RunEvent event = not_finite_event(
        state, find_fault(watched.run.trainer->quiesce(), *watched.run.trainer, *watched.run.batches));
    EXPECT_EQ(event.step, step);
    EXPECT_EQ(event.subject, one.named_layer);
    EXPECT_NE(event.text.find("rank " + std::to_string(culprit)), std::string::npos) << event.text;
    EXPECT_NE(event.text.find("tensor '" + std::string(one.named_tensor) + "'"), std::string::npos)
        << event.text;
  }
}

}  // namespace mylos::health_faults_test

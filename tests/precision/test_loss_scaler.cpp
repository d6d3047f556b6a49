// The loss scaler's transitions against published tables and against PyTorch.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "mylos/base/execution.hpp"
#include "mylos/precision/loss_scaler.hpp"
#include "support/device_views.hpp"

namespace mylos::loss_scaler_test {

constexpr auto unchanged = ScaleEvent::unchanged;
constexpr auto increased = ScaleEvent::increased;
constexpr auto decreased = ScaleEvent::decreased;
constexpr auto tolerated = ScaleEvent::tolerated;
constexpr bool good = false;
constexpr bool bad = true;

/// One step and the expected state after it.
struct Row {
  bool overflow;
  ScaleEvent event;
  float scale;
  std::int64_t good_steps;
  std::int64_t hysteresis_left;
  std::int64_t skipped_in_a_row;
};

/// Small numbers, so that every limit is reached within a few steps.
ScalerOptions small() {
  ScalerOptions options;
  options.initial_scale = 8;
  options.growth_interval = 3;
  options.min_scale = 2;
  options.max_scale = 32;
  options.max_consecutive_skips = 3;
  return options;
}

ScalerState expect_table(const ScalerOptions& options, ScalerMode mode, const std::vector<Row>& rows) {
  const ScalerRule rule = scaler_rule(options, mode);
  ScalerState state = initial_scaler_state(options, mode);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    EXPECT_EQ(rule.advance(state, row.overflow), row.event) << "row " << i;
    EXPECT_EQ(state.scale, row.scale) << "row " << i;
    EXPECT_EQ(state.good_steps, row.good_steps) << "row " << i;
    EXPECT_EQ(state.hysteresis_left, row.hysteresis_left) << "row " << i;
    EXPECT_EQ(state.skipped_in_a_row, row.skipped_in_a_row) << "row " << i;
    EXPECT_EQ(state.steps, static_cast<std::int64_t>(i + 1));
  }
  return state;
}

TEST(LossScaler, DefaultsAreThePublishedOnes) {
  const ScalerOptions options;
  EXPECT_EQ(options.initial_scale, 65536);
  EXPECT_EQ(options.growth_factor, 2);
  EXPECT_EQ(options.backoff_factor, 0.5);
  EXPECT_EQ(options.growth_interval, 2000);
  EXPECT_EQ(options.hysteresis, 1);
  EXPECT_EQ(options.hysteresis_refill, HysteresisRefill::growth);
  EXPECT_EQ(options.min_scale, 1);
  EXPECT_EQ(options.max_scale, 16777216);
  EXPECT_EQ(options.max_consecutive_skips, 20);
  EXPECT_EQ(initial_scaler_state(options, ScalerMode::dynamic).scale, 65536.0f);
  EXPECT_EQ(initial_scaler_state(options, ScalerMode::off).scale, 1.0f);
}

TEST(LossScaler, AutoMeansDynamicForHalfAndOffOtherwise) {
  EXPECT_EQ(resolve_mode(ScalerMode::automatic, true), ScalerMode::dynamic);
  EXPECT_EQ(resolve_mode(ScalerMode::automatic, false), ScalerMode::off);
  for (const ScalerMode mode : {ScalerMode::dynamic, ScalerMode::fixed, ScalerMode::off}) {
    EXPECT_EQ(resolve_mode(mode, true), mode);
    EXPECT_EQ(resolve_mode(mode, false), mode);
  }
}

TEST(LossScaler, DynamicGrowsAfterTheIntervalAndBacksOffAtOnce) {
  const ScalerState state = expect_table(small(), ScalerMode::dynamic,
                                         {{good, unchanged, 8, 1, 1, 0},
                                          {good, unchanged, 8, 2, 1, 0},
                                          {good, increased, 16, 0, 1, 0},
                                          {good, unchanged, 16, 1, 1, 0},
                                          {good, unchanged, 16, 2, 1, 0},
                                          {bad, decreased, 8, 0, 0, 0},  // an overflow restarts the count
                                          {good, unchanged, 8, 1, 0, 0},
                                          {good, unchanged, 8, 2, 0, 0},
                                          {good, increased, 16, 0, 1, 0}});
  EXPECT_EQ(state.overflows, 1);
  EXPECT_EQ(state.increases, 2);
  EXPECT_EQ(state.decreases, 1);
  EXPECT_EQ(state.tolerated, 0);
}

TEST(LossScaler, AtTheCapGrowthReportsUnchangedButRefills) {
  ScalerOptions options = small();
  options.initial_scale = 16;
  options.hysteresis = 2;
  const ScalerState state = expect_table(options, ScalerMode::dynamic,
                                         {{good, unchanged, 16, 1, 2, 0},
                                          {good, unchanged, 16, 2, 2, 0},
                                          {good, increased, 32, 0, 2, 0},
                                          {bad, tolerated, 32, 0, 1, 0},
                                          {good, unchanged, 32, 1, 1, 0},
                                          {good, unchanged, 32, 2, 1, 0},
                                          {good, unchanged, 32, 0, 2, 0},  // refilled and reset, no higher
                                          {bad, tolerated, 32, 0, 1, 0},
                                          {bad, decreased, 16, 0, 0, 0}});
  EXPECT_EQ(state.increases, 1);
}

TEST(LossScaler, GrowthAndBackoffStopExactlyAtTheirLimits) {
  ScalerOptions options = small();
  options.initial_scale = 24;
  options.growth_interval = 1;
  options.min_scale = 5;
  expect_table(options, ScalerMode::dynamic,
               {{good, increased, 32, 0, 1, 0},
                {bad, decreased, 16, 0, 0, 0},
                {bad, decreased, 8, 0, 0, 0},
                {bad, decreased, 5, 0, 0, 0},
                {bad, unchanged, 5, 0, 0, 1},
                {good, increased, 10, 0, 1, 0}});
}

TEST(LossScaler, SkipsAreCountedFromTheFirstOneAtTheFloor) {
  const ScalerOptions options = small();
  const ScalerState state = expect_table(options, ScalerMode::dynamic,
                                         {{bad, decreased, 4, 0, 0, 0},
                                          {bad, decreased, 2, 0, 0, 0},  // reached the floor: not yet counted
                                          {bad, unchanged, 2, 0, 0, 1},
                                          {bad, unchanged, 2, 0, 0, 2},
                                          {good, unchanged, 2, 1, 0, 0},  // one good step resets the count
                                          {bad, unchanged, 2, 0, 0, 1},
                                          {bad, unchanged, 2, 0, 0, 2},
                                          {bad, unchanged, 2, 0, 0, 3}});
  EXPECT_EQ(state.decreases, 2);
  EXPECT_EQ(state.overflows, 7);
}

TEST(LossScaler, ExhaustedExactlyAtTheLimit) {
  for (const ScalerMode mode : {ScalerMode::dynamic, ScalerMode::fixed, ScalerMode::off}) {
    const ScalerRule rule = scaler_rule(small(), mode);
    ScalerState state = initial_scaler_state(small(), mode);
    const int curable = mode == ScalerMode::dynamic ? 2 : 0;  // 8 -> 4 -> 2
    for (int skip = 1; skip <= curable + 3; ++skip) {
      EXPECT_FALSE(rule.exhausted(state)) << skip;
      rule.advance(state, bad);
    }
    EXPECT_TRUE(rule.exhausted(state));
  }
}

TEST(LossScaler, StaticKeepsItsScaleAndCountsEverySkip) {
  const ScalerState state = expect_table(small(), ScalerMode::fixed,
                                         {{good, unchanged, 8, 1, 1, 0},
                                          {bad, unchanged, 8, 0, 1, 1},
                                          {bad, unchanged, 8, 0, 1, 2},
                                          {good, unchanged, 8, 1, 1, 0},
                                          {good, unchanged, 8, 2, 1, 0},
                                          {good, unchanged, 8, 3, 1, 0},
                                          {good, unchanged, 8, 4, 1, 0},
                                          {bad, unchanged, 8, 0, 1, 1}});
  EXPECT_EQ(state.overflows, 3);
  EXPECT_EQ(state.decreases + state.increases + state.tolerated, 0);
}

TEST(LossScaler, OffKeepsOneAndStillCountsSkips) {
  expect_table(small(), ScalerMode::off,
               {{good, unchanged, 1, 1, 1, 0},
                {bad, unchanged, 1, 0, 1, 1},
                {bad, unchanged, 1, 0, 1, 2},
                {good, unchanged, 1, 1, 1, 0}});
}

TEST(LossScaler, HysteresisTwoToleratesOneOverflowPerRefill) {
  ScalerOptions options = small();
  options.hysteresis = 2;
  const ScalerState state = expect_table(options, ScalerMode::dynamic,
                                         {{bad, tolerated, 8, 0, 1, 0},
                                          {good, unchanged, 8, 1, 1, 0},  // a good step does not refill
                                          {bad, decreased, 4, 0, 0, 0},
                                          {bad, decreased, 2, 0, 0, 0},  // nor does backing off
                                          {good, unchanged, 2, 1, 0, 0},
                                          {good, unchanged, 2, 2, 0, 0},
                                          {good, increased, 4, 0, 2, 0},  // growth does
                                          {bad, tolerated, 4, 0, 1, 0}});
  EXPECT_EQ(state.tolerated, 2);
}

TEST(LossScaler, HysteresisThreeBacksOffAtTheThirdAndAtEachLaterOne) {
  ScalerOptions options = small();
  options.hysteresis = 3;
  options.initial_scale = 32;
  expect_table(options, ScalerMode::dynamic,
               {{bad, tolerated, 32, 0, 2, 0},
                {bad, tolerated, 32, 0, 1, 0},
                {bad, decreased, 16, 0, 0, 0},
                {bad, decreased, 8, 0, 0, 0},
                {bad, decreased, 4, 0, 0, 0},
                {bad, decreased, 2, 0, 0, 0},
                {bad, unchanged, 2, 0, 0, 1}});
}

TEST(LossScaler, WithRefillOnGoodStepOnlyOverflowsInARowBackOff) {
  ScalerOptions options = small();
  options.hysteresis = 2;
  options.hysteresis_refill = HysteresisRefill::good_step;
  expect_table(options, ScalerMode::dynamic,
               {{bad, tolerated, 8, 0, 1, 0},
                {good, unchanged, 8, 1, 2, 0},
                {bad, tolerated, 8, 0, 1, 0},
                {good, unchanged, 8, 1, 2, 0},
                {bad, tolerated, 8, 0, 1, 0},
                {bad, decreased, 4, 0, 0, 0},
                {good, unchanged, 4, 1, 2, 0}});
}

// torch._amp_update_scale_, the kernel under torch.amp.GradScaler (PyTorch 2.15), printed these:
//   s, t = torch.tensor(1024.0), torch.tensor(0, dtype=torch.int32)
//   for f in [0,0,0,0,1,0,0,1,1,0,0,0,0,0,1,0,0,0,0,0]:
//     torch._amp_update_scale_(s, t, torch.tensor(float(f)), 2.0, 0.5, 3); print((int(s), int(t)))
TEST(LossScaler, WithHysteresisOneItIsPyTorchsGradScaler) {
  struct Torch {
    bool overflow;
    float scale;
    std::int64_t growth_tracker;
  };
  const std::vector<Torch> published{{good, 1024, 1}, {good, 1024, 2}, {good, 2048, 0}, {good, 2048, 1},
                                     {bad, 1024, 0},  {good, 1024, 1}, {good, 1024, 2}, {bad, 512, 0},
                                     {bad, 256, 0},   {good, 256, 1},  {good, 256, 2},  {good, 512, 0},
                                     {good, 512, 1},  {good, 512, 2},  {bad, 256, 0},   {good, 256, 1},
                                     {good, 256, 2},  {good, 512, 0},  {good, 512, 1},  {good, 512, 2}};
  ScalerOptions options;
  options.initial_scale = 1024;
  options.growth_interval = 3;
  const ScalerRule rule = scaler_rule(options, ScalerMode::dynamic);
  ScalerState state = initial_scaler_state(options, ScalerMode::dynamic);
  for (const Torch& step : published) {
    rule.advance(state, step.overflow);
    EXPECT_EQ(state.scale, step.scale);
    EXPECT_EQ(state.good_steps, step.growth_tracker);
  }
}

KOKKOS_FUNCTION bool overflows_at(int step) {
  return step % 7 == 3 || step % 11 == 5;
}

/// 50 steps in one kernel. (nvcc takes no device lambda within a test, which is a private function.)
void advance_on_device(const ScalerRule& rule, const Kokkos::View<ScalerState, Device>& state) {
  Kokkos::parallel_for(
      "scaler", 1, KOKKOS_LAMBDA(const int) {
        for (int step = 0; step < 50; ++step) rule.advance(state(), overflows_at(step));
      });
}

TEST(LossScaler, KnowsStatesThatNoStepsLeadTo) {
  const ScalerRule rule = scaler_rule(small(), ScalerMode::dynamic);
  ScalerState state = initial_scaler_state(small(), ScalerMode::dynamic);
  EXPECT_TRUE(is_possible(state));
  for (int step = 0; step < 3000; ++step) {
    rule.advance(state, overflows_at(step));
    ASSERT_TRUE(is_possible(state)) << step;
  }
  const std::vector<std::function<void(ScalerState&)>> damages{
      [](ScalerState& s) { s.scale = 0; },
      [](ScalerState& s) { s.scale = std::numeric_limits<float>::infinity(); },
      [](ScalerState& s) { s.hysteresis_left = std::numeric_limits<std::int64_t>::max(); },
      [](ScalerState& s) { s.since_backoff = -1; },
      [](ScalerState& s) { s.recent.overflows += 1; },
      [](ScalerState& s) { s.recent.noted = 1; },
      [](ScalerState& s) { s.norm_sum = std::numeric_limits<double>::quiet_NaN(); }};
  for (std::size_t i = 0; i < damages.size(); ++i) {
    ScalerState damaged = state;
    damages[i](damaged);
    EXPECT_FALSE(is_possible(damaged)) << i;
  }
}

TEST(LossScaler, AdvancesTheSameInAKernel) {
  ScalerOptions options = small();
  options.hysteresis = 2;
  const ScalerRule rule = scaler_rule(options, ScalerMode::dynamic);
  ScalerState on_host = initial_scaler_state(options, ScalerMode::dynamic);
  const Kokkos::View<ScalerState, Device> on_device("scaler");
  Kokkos::deep_copy(on_device, on_host);
  advance_on_device(rule, on_device);
  for (int step = 0; step < 50; ++step) rule.advance(on_host, overflows_at(step));
  ScalerState result;
  Kokkos::deep_copy(result, on_device);
  EXPECT_EQ(result.scale, on_host.scale);
  EXPECT_EQ(result.good_steps, on_host.good_steps);
  EXPECT_EQ(result.hysteresis_left, on_host.hysteresis_left);
  EXPECT_EQ(result.overflows, on_host.overflows);
  EXPECT_EQ(result.tolerated, on_host.tolerated);
}

}  // namespace mylos::loss_scaler_test

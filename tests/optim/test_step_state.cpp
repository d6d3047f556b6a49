// The decision of a step, and the state after it.
#include <gtest/gtest.h>

#include <cmath>

#include "mylos/base/execution.hpp"
#include "mylos/comm/group/agreement.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "support/device_values.hpp"

namespace mylos::step_state_test {

constexpr std::int64_t capacity = 4;

class Step : public testing::Test {
 protected:
  Step() {
    ScalerOptions scaler;
    scaler.initial_scale = 1024;
    scaler.growth_interval = 3;
    scaler.min_scale = 512;
    scaler.max_consecutive_skips = 2;
    rule.scaler = scaler_rule(scaler, ScalerMode::dynamic);
    OptimizerOptions optimizer;
    optimizer.lr = 0.5;
    ScheduleOptions schedule;
    schedule.type = ScheduleType::linear;
    schedule.steps = 10;
    rule.rate = learning_rate(optimizer, schedule, 10);
    rule.clip_norm = 2;
    rule.beta1 = 0.9;
    rule.beta2 = 0.999;
    StepState first;
    first.scaler = initial_scaler_state(scaler, ScalerMode::dynamic);
    state.set(first);
  }

  static AgreementResult good(double squared_norm = 1) {
    AgreementResult result;
    result.sums = {.squared_norm = squared_norm, .samples = 256, .loss = 512};
    return result;
  }
  static AgreementResult overflow(int rank) {
    AgreementResult result = good();
    result.overflow = rank + 1;
    result.skip = 1;
    return result;
  }
  StepState decide_only(const AgreementResult& result) {
    agreed.set(result);
    decide(exec, rule, own_input.data(), agreed.data(), state.data());
    exec.fence();
    return state.get();
  }
  StepState run(const AgreementResult& result) {
    decide_only(result);
    advance(exec, rule, agreed.data(), state.data(), reinterpret_cast<StepRecord*>(records.data()), capacity);
    exec.fence();
    return state.get();
  }
  [[nodiscard]] StepRecord record(std::size_t slot) const { return records.get()[slot]; }

  Execution exec;
  StepRule rule;
  test::DeviceValue<StepInput> own_input;
  test::DeviceValue<AgreementResult> agreed;
  test::DeviceValue<StepState> state;
  test::DeviceValue<std::array<StepRecord, capacity>> records;
};

TEST_F(Step, AGoodStepAppliesUnscalesAndCorrectsTheBiases) {
  const UpdateControl control = decide_only(good()).control;
  EXPECT_EQ(control.apply, 1);
  EXPECT_FLOAT_EQ(control.gradient_factor, 1.0f / 1024);
  EXPECT_FLOAT_EQ(control.lr, 0.5f);
  EXPECT_FLOAT_EQ(control.bias_correction1, 0.1f);
  EXPECT_FLOAT_EQ(control.bias_correction2, 0.001f);
}

TEST_F(Step, ClippingScalesTheNormDownAndNeverUp) {
  // As torch.nn.utils.clip_grad_norm_: factor = max_norm / (norm + 1e-6) where that is below 1.
  struct Case {
    double norm, factor;
  };
  for (const Case& test : {Case{0, 1}, {1.5, 1}, {1.999998, 1}, {4, 2 / (4 + 1e-6)}, {1e6, 2e-6}}) {
    const StepState now = decide_only(good(test.norm * test.norm));
    EXPECT_NEAR(now.control.gradient_factor * 1024, test.factor, 1e-6 * test.factor) << test.norm;
    EXPECT_DOUBLE_EQ(now.record.gradient_norm, test.norm);
  }
  rule.clip_norm = 0;  // off
  EXPECT_FLOAT_EQ(decide_only(good(1e12)).control.gradient_factor, 1.0f / 1024);
}

TEST_F(Step, ASkippedStepHasNoNorm) {
  // Which part of the gradients is finite depends on how the ranks divide them.
  EXPECT_EQ(run(overflow(1)).record.gradient_norm, 0);
  EXPECT_EQ(record(0).gradient_norm, 0);
}

TEST_F(Step, TheUpdateDividesByTheRowsThatTheRanksPutIn) {
  rule.planned_rows = 1024;  // divisor of the reduction; the actual number of rows is 256
  const StepState now = decide_only(good(0.01));
  EXPECT_FLOAT_EQ(now.control.gradient_factor, 4.0f / 1024);
  EXPECT_DOUBLE_EQ(now.record.gradient_norm, 0.4);
  EXPECT_DOUBLE_EQ(now.record.loss, 2);
  EXPECT_EQ(now.record.rows, 256);
  EXPECT_NEAR(decide_only(good(1)).control.gradient_factor, 2.0f / 1024, 1e-8) << "clipped from 4 to 2";
}

TEST_F(Step, AStepWithoutRowsMovesItsNumberAlone) {
  const StepState before = run(good());
  AgreementResult nothing;
  const StepState after = run(nothing);
  EXPECT_EQ(after.control.apply, 0);
  EXPECT_EQ(after.step, before.step + 1);
  EXPECT_EQ(after.updates, before.updates);
  EXPECT_EQ(after.scaler.steps, before.scaler.steps);
  EXPECT_EQ(after.scaler.good_steps, before.scaler.good_steps);
  EXPECT_EQ(after.record.loss, 0);
}

TEST_F(Step, AnOverflowMovesTheStepButNeitherUpdatesNorLearningRateNorAdamsTime) {
  run(good());
  const StepState before = decide_only(good());
  const StepState after = run(overflow(2));
  EXPECT_EQ(after.control.apply, 0);
  EXPECT_EQ(after.step, before.step + 1);
  EXPECT_EQ(after.updates, before.updates);
  EXPECT_EQ(after.scaler.scale, 512);
  const StepState next = decide_only(good());
  EXPECT_EQ(next.control.apply, 1);
  EXPECT_EQ(next.control.lr, before.control.lr);
  EXPECT_EQ(next.control.bias_correction1, before.control.bias_correction1);
  EXPECT_EQ(next.control.bias_correction2, before.control.bias_correction2);
  EXPECT_FLOAT_EQ(next.control.gradient_factor, 1.0f / 512);
}

TEST_F(Step, LearningRateAndBiasCorrectionsGoByUpdates) {
  std::uint64_t updates = 0;
  for (int i = 0; i < 9; ++i) {
    const bool skips = i % 3 == 1;
    const StepState now = run(skips ? overflow(0) : good());
    EXPECT_NEAR(now.control.lr, 0.5 * (1 - static_cast<double>(updates) / 10), 1e-7);
    EXPECT_NEAR(now.control.bias_correction1, 1 - std::pow(0.9, updates + 1), 1e-7);
    EXPECT_NEAR(now.control.bias_correction2, 1 - std::pow(0.999, updates + 1), 1e-9);
    EXPECT_EQ(now.control.updates, updates);
    updates += skips ? 0 : 1;
    EXPECT_EQ(now.updates, updates);
    EXPECT_EQ(now.step, static_cast<std::uint64_t>(i + 1));
  }
}

TEST_F(Step, BiasCorrectionsStayExactForSmallOneMinusBeta) {
  rule.beta2 = 1 - 1e-7;
  EXPECT_NEAR(decide_only(good()).control.bias_correction2, 1e-7, 1e-14);
}

TEST_F(Step, LeavesOneRecordPerStepInTurn) {
  AgreementResult second = overflow(1);
  second.stop = 3;
  run(good(9));
  run(second);
  run(good());
  const StepRecord first = record(0);
  EXPECT_EQ(first.step, 1u);
  EXPECT_EQ(first.updates, 1u);
  EXPECT_DOUBLE_EQ(first.loss, 2);  // mean over the batch
  EXPECT_DOUBLE_EQ(first.gradient_norm, 3);
  EXPECT_FLOAT_EQ(first.lr, 0.5f);
  EXPECT_EQ(first.scale, 1024);
  EXPECT_EQ(first.event, ScaleEvent::unchanged);
  EXPECT_EQ(first.overflow, 0);
  const StepRecord skipped = record(1);
  EXPECT_EQ(skipped.step, 2u);
  EXPECT_EQ(skipped.updates, 1u);
  EXPECT_EQ(skipped.scale, 1024);  // the scale of this step
  EXPECT_EQ(skipped.event, ScaleEvent::decreased);
  EXPECT_EQ(skipped.overflow, 2);
  EXPECT_EQ(skipped.stop, 3);
  EXPECT_EQ(record(2).scale, 512);
  EXPECT_EQ(record(2).updates, 2u);
  run(good());
  run(good());
  EXPECT_EQ(record(0).step, 5u);  // the ring has wrapped
  EXPECT_EQ(record(0).event, ScaleEvent::increased);
  EXPECT_EQ(record(1).step, 2u);
}

TEST_F(Step, AStopRequestStillUpdates) {
  AgreementResult asked = good();
  asked.stop = 2;
  const StepState now = run(asked);
  EXPECT_EQ(now.control.apply, 1);
  EXPECT_EQ(now.updates, 1u);
  EXPECT_EQ(now.halted, 0);
  EXPECT_EQ(now.record.stop, 2);
}

TEST_F(Step, AnErrorOrDifferentScalesHaltWithoutMovingAnything) {
  for (const bool error : {true, false}) {
    run(good());
    const StepState before = state.get();
    AgreementResult failed = good();
    failed.skip = 1;
    (error ? failed.error : failed.scales_differ) = 1;
    const StepState after = run(failed);
    EXPECT_EQ(after.halted, 1);
    EXPECT_EQ(after.control.apply, 0);
    EXPECT_EQ(after.step, before.step);
    EXPECT_EQ(after.updates, before.updates);
    EXPECT_EQ(after.scaler.steps, before.scaler.steps);
    EXPECT_EQ(after.record.error, error ? 1 : 0);
    const StepState later = run(good());  // steps already in flight leave the cause readable
    EXPECT_EQ(later.control.apply, 0);
    EXPECT_EQ(later.step, before.step);
    EXPECT_EQ(later.record.error, error ? 1 : 0);
    state.set(before);
  }
}

TEST_F(Step, AfterTheLimitOfSkipsNothingMovesAnyMore) {
  run(overflow(0));  // 1024 -> 512, the floor
  run(overflow(0));
  EXPECT_EQ(state.get().halted, 0);
  EXPECT_EQ(run(overflow(0)).halted, 1);
  const StepState halted = state.get();
  const auto written = records.get();
  const StepState after = run(good());  // steps that were already in flight
  EXPECT_EQ(after.control.apply, 0);
  EXPECT_EQ(after.halted, 1);
  EXPECT_EQ(after.step, halted.step);
  EXPECT_EQ(after.updates, 0u);
  EXPECT_EQ(after.scaler.scale, halted.scaler.scale);
  EXPECT_EQ(after.scaler.steps, halted.scaler.steps);
  for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(record(i).step, written[i].step);
}

TEST_F(Step, SumsStartAtZeroAndTravelWithSamplesStopAndError) {
  const test::DeviceValue<LossSums> sums(LossSums{3.5, 7});
  const AgreementBuffer agreement(1, 2);
  const test::DeviceValue<StepInput> input;
  upload(exec, {.rows = 31, .stop = 2, .error = 0, .own = {}}, input.data());
  state_own_part(exec, input.data(), sums.data(), agreement);
  begin_step(exec, sums.data());
  exec.fence();
  AgreementFlags flags;
  AgreementSums part;
  test::copy_to_host(agreement.own_flags(), &flags, sizeof(flags));
  test::copy_to_host(agreement.own_sums(), &part, sizeof(part));
  EXPECT_EQ(flags.stop, 2);
  EXPECT_EQ(flags.error, 0);
  EXPECT_EQ(part.samples, 31);
  EXPECT_EQ(part.loss, 3.5);
  EXPECT_EQ(sums.get().loss, 0);
  EXPECT_EQ(sums.get().correct, 0);
}

}  // namespace mylos::step_state_test

// The parameter health that the update records, against sums in double over the same values.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "mylos/base/execution.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/optim/update/optimizer.hpp"
#include "support/device_values.hpp"

namespace mylos::parameter_health_test {

constexpr float scale = 1024;
constexpr float clip = 0.25f;

Chain chain_of(DType compute) {
  ModelOptions model;
  model.hidden = {90};
  model.norm = NormType::layernorm;
  model.inputs = 70;  // with 90 units the weights fill more than one block, and no multiple of a vector
  model.outputs = 3;
  PrecisionOptions precision;
  precision.compute = compute;
  return make_mlp(model, precision, 1, false);
}

UpdateControl control_of(std::int32_t record) {
  UpdateControl control;
  control.apply = 1;
  control.health_record = record;
  control.unscale = 1 / scale;
  control.gradient_factor = clip / scale;
  control.lr = 1e-2f;
  control.bias_correction1 = 0.1f;
  control.bias_correction2 = 0.001f;
  return control;
}

/// Gradients as stored: of many magnitudes, some zero, some subnormal in the type.
std::vector<float> gradients_of(std::int64_t count, DType type) {
  const float tiny = type == DType::fp16 ? 0x1p-20f : 0x1p-130f;
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto size = static_cast<float>((i * 7919) % 129 - 64);
    values.push_back(i % 11 == 0 ? 0.0f : i % 13 == 0 ? tiny : size / 16);
  }
  return values;
}

struct Subject {
  Subject(DType compute, OptimizerType type, std::int64_t records)
      : store(make_parameter_layout(chain_of(compute), 1 << 20, 1)) {
    options.type = type;
    store.initialize(exec, 3);
    for (const ParameterSlot& slot : store.layout().slots)
      test::set_values(store.gradient(slot), gradients_of(slot.size(), slot.spec.type));
    const std::vector<float> divisors(store.layout().buckets.size(), 1.0f);
    optimizer.emplace(options, store, divisors, false, records);
  }
  void update(const UpdateControl& now) {
    const test::DeviceValue<UpdateControl> control(now);
    optimizer->update(exec, control.data());
    exec.fence();
  }
  [[nodiscard]] std::vector<float> masters(const ParameterSlot& slot) const {
    return test::values_of(store.master(slot));
  }

  Execution exec;
  OptimizerOptions options;
  ParameterStore store;
  std::optional<Optimizer> optimizer;
};

void expect_sums(const ParameterHealth& seen, const std::vector<float>& gradients,
                 const std::vector<float>& before, const std::vector<float>& after, float min_normal) {
  double gradient = 0, weight = 0, change = 0;
  float largest_gradient = 0, largest_weight = 0;
  std::int64_t zeros = 0, subnormals = 0, non_finite = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const float g = std::fabs(gradients[i]);
    weight += static_cast<double>(after[i]) * static_cast<double>(after[i]);
    change += std::pow(static_cast<double>(after[i]) - static_cast<double>(before[i]), 2);
    largest_weight = std::max(largest_weight, std::fabs(after[i]));
    if (!std::isfinite(g)) {
      ++non_finite;
      continue;
    }
    gradient += std::pow(static_cast<double>(g) / static_cast<double>(scale), 2);
    largest_gradient = std::max(largest_gradient, g / scale);
    zeros += g == 0 ? 1 : 0;
    subnormals += g > 0 && g < min_normal ? 1 : 0;
  }
  EXPECT_NEAR(seen.gradient_squares, gradient, 1e-5 * gradient);
  EXPECT_NEAR(seen.weight_squares, weight, 1e-5 * weight);
  EXPECT_NEAR(seen.change_squares, change, 1e-5 * change);
  EXPECT_EQ(seen.largest_gradient, largest_gradient);
  EXPECT_EQ(seen.largest_weight, largest_weight);
  EXPECT_EQ(seen.zeros, zeros);
  EXPECT_EQ(seen.subnormals, subnormals);
  EXPECT_EQ(seen.non_finite, non_finite);
  EXPECT_EQ(seen.count, static_cast<std::int64_t>(gradients.size()));
}

float min_normal(DType type) {
  return type == DType::fp16 ? 0x1p-14f : std::numeric_limits<float>::min();
}

class ParameterHealthOf : public testing::TestWithParam<DType> {};

TEST_P(ParameterHealthOf, IsWhatSumsOverItsElementsGive) {
  for (const OptimizerType type : {OptimizerType::sgd, OptimizerType::adamw, OptimizerType::lamb}) {
    Subject subject(GetParam(), type, 4);
    const std::vector<ParameterSlot>& slots = subject.store.layout().slots;
    std::vector<std::vector<float>> before;
    for (const ParameterSlot& slot : slots) before.push_back(subject.masters(slot));
    subject.update(control_of(2));
    const std::vector<ParameterHealth> seen = subject.optimizer->health().read(subject.exec, 2);
    ASSERT_EQ(seen.size(), slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      SCOPED_TRACE(slots[i].path());
      expect_sums(seen[i], test::values_of(subject.store.gradient(slots[i])), before[i],
                  subject.masters(slots[i]), min_normal(slots[i].spec.type));
    }
  }
}

TEST_P(ParameterHealthOf, CountsWhatIsNotFiniteInASkippedStepThatMovesNothing) {
  Subject subject(GetParam(), OptimizerType::adamw, 4);
  const ParameterSlot& slot = subject.store.layout().slots[1];
  std::vector<float> gradients = gradients_of(slot.size(), slot.spec.type);
  gradients[2] = std::numeric_limits<float>::infinity();
  gradients[gradients.size() - 1] = std::numeric_limits<float>::quiet_NaN();
  test::set_values(subject.store.gradient(slot), gradients);
  const std::vector<float> before = subject.masters(slot);
  UpdateControl control = control_of(0);
  control.apply = 0;
  subject.update(control);
  EXPECT_EQ(subject.masters(slot), before);
  expect_sums(subject.optimizer->health().read(subject.exec, 0)[1], gradients, before, before,
              min_normal(slot.spec.type));
}

TEST_P(ParameterHealthOf, LeavesWeightsAsTheyAreWithoutIt) {
  for (const OptimizerType type :
       {OptimizerType::sgd, OptimizerType::adam, OptimizerType::adamw, OptimizerType::lamb}) {
    Subject plain(GetParam(), type, 0);
    Subject watched(GetParam(), type, 4);
    for (const std::int32_t record : {-1, 0, 1}) {
      plain.update(control_of(-1));
      watched.update(control_of(record));
    }
    for (const ParameterSlot& slot : plain.store.layout().slots)
      EXPECT_EQ(plain.masters(slot), watched.masters(slot)) << slot.path();
  }
}

TEST_P(ParameterHealthOf, IsNotTouchedByStepsThatNobodyLooksAt) {
  Subject subject(GetParam(), OptimizerType::adamw, 2);
  subject.update(control_of(1));
  const ParameterHealth seen = subject.optimizer->health().read(subject.exec, 1)[0];
  subject.update(control_of(-1));
  EXPECT_EQ(subject.optimizer->health().read(subject.exec, 1)[0].change_squares, seen.change_squares);
  EXPECT_EQ(subject.optimizer->health().read(subject.exec, 0)[0].count, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, ParameterHealthOf, testing::Values(DType::fp32, DType::bf16, DType::fp16),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

TEST(HealthRing, TakesTheBytesThatItStates) {
  const ParameterLayout layout = make_parameter_layout(chain_of(DType::bf16), 1 << 20, 1);
  EXPECT_EQ(HealthRing::memory_bytes(0, layout), 0u);
  const std::size_t blocks = static_cast<std::size_t>((layout.elements + 4095) / 4096) + layout.slots.size();
  EXPECT_EQ(HealthRing::memory_bytes(3, layout),
            (3 * layout.slots.size() + blocks) * sizeof(ParameterHealth));
}

}  // namespace mylos::parameter_health_test

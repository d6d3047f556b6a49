// The fused pass itself: arrays that a device reads several elements at a time, and those that it cannot.
#include "mylos/optim/update/update_pass.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mylos/base/execution.hpp"
#include "support/device_values.hpp"

namespace mylos::update_pass_test {

constexpr std::int64_t count =
    2 * UpdatePass::block_elements + 4 * 17 + 3;  // blocks, groups, single elements

/// The arrays of one parameter, the first of whose elements has this index in its memory.
class Arrays {
 public:
  Arrays(const UpdateTypes& types, std::int64_t first) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0, 0.1f);
    for (const DType type : {types.gradient, types.weight, DType::fp32, DType::fp32, DType::fp32}) {
      memory_.emplace_back("array", static_cast<std::size_t>(first + count) * sizeof(float));
      std::vector<float> values(static_cast<std::size_t>(count));
      for (float& value : values) value = std::abs(normal(random));
      arrays_.push_back(memory_.back().tensor(0, type, 1, first + count).elements(first, count));
      test::set_values(arrays_.back(), values);
    }
  }
  UpdateSpan span() const {
    return {.count = count,
            .gradient = arrays_[0].data(),
            .master = arrays_[2].as<float>(),
            .m = arrays_[3].as<float>(),
            .v = arrays_[4].as<float>(),
            .weight = arrays_[1].type() == DType::fp32 ? arrays_[2].data() : arrays_[1].data(),
            .decay = 0.1f,
            .rounding = RandomStream(0, RandomPurpose::weight_rounding, "")};
  }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const Tensor& array : arrays_) all.push_back(test::values_of(array));
    return all;
  }

 private:
  std::vector<Arena> memory_;
  std::vector<Tensor> arrays_;
};

void update(OptimizerType optimizer, const UpdateTypes& types, const Arrays& arrays) {
  OptimizerOptions options;
  options.type = optimizer;
  const Kokkos::View<UpdateSpan*, Device> memory("spans", 1);
  const UpdatePass pass(options, types, {arrays.span()}, {memory.data(), memory.size()});
  const test::DeviceValue<UpdateControl> control({.apply = 1,
                                                  .gradient_factor = 0.5f,
                                                  .lr = 1e-2f,
                                                  .bias_correction1 = 0.1f,
                                                  .bias_correction2 = 0.01f});
  const Execution exec;
  pass.run(exec, control.data(), HealthRing());
  exec.fence();
}

class UpdatePassOfTypes : public testing::TestWithParam<UpdateTypes> {};
INSTANTIATE_TEST_SUITE_P(GradientAndWeight, UpdatePassOfTypes,
                         testing::Values(UpdateTypes{DType::fp32, DType::fp32},
                                         UpdateTypes{DType::fp32, DType::fp16},
                                         UpdateTypes{DType::fp16, DType::fp16},
                                         UpdateTypes{DType::fp32, DType::bf16},
                                         UpdateTypes{DType::bf16, DType::bf16}));

TEST_P(UpdatePassOfTypes, GivesTheSameBitsWhereverArraysBegin) {
  const UpdateTypes types = GetParam();
  for (const OptimizerType optimizer : {OptimizerType::sgd, OptimizerType::adamw, OptimizerType::lion}) {
    const Arrays aligned(types, 0);
    const auto before = aligned.values();
    update(optimizer, types, aligned);
    const auto expected = aligned.values();
    EXPECT_EQ(expected[0], before[0]);  // gradients
    for (std::size_t i = 0; i < expected[2].size(); ++i) ASSERT_NE(expected[2][i], before[2][i]) << i;
    for (const std::int64_t first : {1, 2, 3, 4}) {
      const Arrays shifted(types, first);
      update(optimizer, types, shifted);
      EXPECT_EQ(shifted.values(), expected) << first;
    }
  }
}

TEST_P(UpdatePassOfTypes, WritesTheRoundedMasters) {
  const UpdateTypes types = GetParam();
  if (types.weight == DType::fp32) GTEST_SKIP() << "the masters are the weights";
  const Arrays arrays(types, 0);
  update(OptimizerType::adamw, types, arrays);
  const auto values = arrays.values();
  const Arena memory("rounded", static_cast<std::size_t>(count) * sizeof(float));
  const Tensor rounded = memory.tensor(0, types.weight, 1, count);
  test::set_values(rounded, values[2]);
  EXPECT_EQ(values[1], test::values_of(rounded));
}

}  // namespace mylos::update_pass_test

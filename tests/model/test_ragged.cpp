// A model that was planned for a complete micro-batch gives a smaller one the bits of a model of that size.
#include <gtest/gtest.h>

#include <optional>

#include "model/guarded_block.hpp"
#include "model/schedules.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/mlp.hpp"
#include "mylos/model/network/training_model.hpp"
#include "support/device_values.hpp"

namespace mylos::ragged_test {

constexpr std::int64_t inputs = 784;
constexpr std::int64_t classes = 10;
constexpr std::size_t blocks = 5;  // two hidden layers with their norms, and the head

struct Result {
  std::vector<std::vector<std::byte>> gradients;
  double loss = 0;
};

/// One step with `rows` samples of a model that is planned for `planned`.
Result step(DType type, std::int64_t planned, std::int64_t rows, const std::optional<Schedule>& schedule) {
  ModelOptions options;
  options.inputs = inputs;
  options.outputs = classes;
  options.hidden = {1024, 512};
  options.norm = NormType::layernorm;
  options.activation = Activation::gelu;
  PrecisionOptions precision;
  precision.compute = type;
  const std::unique_ptr<EngineSet> engines = make_engines({});
  TrainingModel model(make_mlp(options, precision, 3, true), *engines, planned, 1 << 30, 1, schedule);
  const Execution exec;
  model.parameters().initialize(exec, 17);

  const auto count = static_cast<std::size_t>(rows);
  const Arena memory("input and labels", count * inputs * size_of(type) + 256 + count * 4);
  const Tensor input = memory.tensor(0, type, rows, inputs);
  test::set_values(input, test::drawn_values(rows * inputs, 1));
  std::byte* labels = memory.data() + aligned_bytes(count * inputs * size_of(type));
  std::vector<std::int32_t> drawn(count);
  for (std::size_t i = 0; i < count; ++i) drawn[i] = static_cast<std::int32_t>(i * 7 % classes);
  test::copy_to_device(drawn.data(), labels, count * 4);

  const test::DeviceValue<std::uint64_t> number{5};
  const test::DeviceValue<float> scale{64.0f};
  test::DeviceValue<LossSums> sums;
  sums.set({});
  const StepContext context{.exec = exec, .engines = *engines, .step = number.data(), .first_sample = 0};
  model.forward(context, input);
  model.loss_and_seed(context, {.labels = reinterpret_cast<const std::int32_t*>(labels)},
                      {scale.data(), 1.0f / static_cast<float>(rows), false}, sums.data());
  model.backward(context, false, [](std::size_t) {});
  exec.fence();
  Result result{{}, sums.get().loss};
  for (const GradientBucket& bucket : model.parameters().layout().buckets) {
    result.gradients.push_back(test::bytes_of(model.parameters().gradient(bucket)));
  }
  return result;
}

TEST(Ragged, MicroBatchesHaveTheBitsOfAModelOfTheirSize) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    const Result expected = step(type, 144, 144, std::nullopt);
    for (const bool recomputes : {false, true}) {
      const auto schedule =
          recomputes ? std::optional(test::every(1, blocks, [](std::size_t) { return std::size_t{0}; }))
                     : std::nullopt;
      const Result result = step(type, 256, 144, schedule);
      EXPECT_EQ(result.loss, expected.loss) << name_of(type);
      EXPECT_TRUE(result.gradients == expected.gradients) << name_of(type) << ", recomputes " << recomputes;
    }
  }
}

}  // namespace mylos::ragged_test

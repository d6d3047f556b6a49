// One step of a network of samples in boxes, one on each rank of MPI_COMM_WORLD.
#pragma once

#include <optional>

#include "kernels/convolution_case.hpp"
#include "model/listed_layers.hpp"
#include "model/mpi_sample_ranks.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos::box_test {

constexpr std::int64_t rows = 2;
constexpr std::uint64_t seed = 9;

/// For statistics over all ranks.
class AllRanks final : public SumsOverRanks {
 public:
  explicit AllRanks(const GridPart& part) : ranks_(part) {}
  void add_up(const Execution& exec, const Tensor& sums) override { ranks_.add_up(exec, sums); }

 private:
  test::MpiSampleRanks ranks_;
};

struct Result {
  std::vector<float> outputs, input_gradient;
  std::vector<double> gradients, sums;  // of all parameters; for the running statistics
  double loss = 0;
  SampleExchangeSizes exchanges;
};

struct Batch {
  explicit Batch(const ModelOptions& model)
      : inputs(test::random_values(DType::fp32, rows * model.inputs, -1, 1, 1)),
        targets(test::random_values(DType::fp32, rows * model.outputs, -1, 1, 2)) {}

  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels{1, 3};
};

inline Tensor tensor_in(const Arena& arena, const std::vector<float>& values, DType type) {
  const Tensor tensor(arena.data(), type, rows, static_cast<std::int64_t>(values.size()) / rows);
  test::set_values(tensor, values);
  return tensor;
}

/// Without it the first layer computes none.
inline bool wants_input_gradient(DType compute) {
  return compute == DType::fp32;
}

/// The factor of gradients of the mean over all ranks' rows, each of which has a box.
inline float factor_of_mean(const GridPart& part) {
  return 1.0f / static_cast<float>(part.count() * rows);
}

/// One step of a network whose batch is that of a rank. `seed_factor`: that of the gradients of the losses.
/// `is_reproducible`: as in such runs.
inline Result step_of(const ModelOptions& options, DType compute, const Batch& batch, SampleRanks* ranks,
                      float seed_factor, bool is_reproducible = false) {
  const Execution exec;
  const auto engines = make_engines({.gemm = is_reproducible ? GemmChoice::tiles : GemmChoice::automatic});
  PrecisionOptions precision;
  if (is_reproducible) precision.gradient = GradientType::fp32;
  precision.compute = compute;
  const Chain chain = make_chain(options, precision, seed, false, wants_input_gradient(compute));
  TrainingModel model(chain, *engines, rows, 1 << 20, 1);
  model.parameters().initialize(exec, seed);
  const Arena arena("input", 1 << 18), numbers("targets", 1 << 18), labels("labels", 4096);
  const Tensor input = tensor_in(arena, batch.inputs, chain.input_type());
  tensor_in(numbers, batch.targets, DType::fp32);
  test::copy_to_device(batch.labels.data(), labels.data(), batch.labels.size() * sizeof(std::int32_t));
  Truth truth;
  if (chain.prediction() == Prediction::classes) {
    truth.labels = reinterpret_cast<const std::int32_t*>(labels.data());
  } else {
    truth.targets = reinterpret_cast<const float*>(numbers.data());
  }
  const test::DeviceValue<std::uint64_t> step(3);
  const test::DeviceValue<float> scale(64.0f);
  const test::DeviceValue<LossSums> sums;
  std::optional<AllRanks> all;
  if (ranks != nullptr) all.emplace(options.part);
  const StepContext context{.exec = exec,
                            .engines = *engines,
                            .step = step.data(),
                            .ranks = all ? &*all : nullptr,
                            .sample_ranks = ranks};
  model.begin_step(exec);
  model.forward(context, input);
  model.loss_and_seed(context, truth, {scale.data(), seed_factor, false}, sums.data());
  Result result;
  result.outputs = test::values_of(model.output());
  model.backward(
      context, false, [](std::size_t) {}, nullptr, wants_input_gradient(compute));
  exec.fence();
  if (wants_input_gradient(compute)) result.input_gradient = test::values_of(model.input_gradient());
  for (const ParameterSlot& slot : model.parameters().layout().slots) {
    const std::vector<double> gradient = test::doubles_of(model.parameters().gradient(slot));
    result.gradients.insert(result.gradients.end(), gradient.begin(), gradient.end());
  }
  if (!model.buffers().sums().empty()) {
    result.sums.resize(static_cast<std::size_t>(model.buffers().sums().size()));
    test::copy_to_host(model.buffers().sums().data(), result.sums.data(), model.buffers().sums().bytes());
  }
  result.loss = sums.get().loss;
  result.exchanges = sample_exchanges(chain, rows);
  return result;
}

inline GridShape grid_of_sample(const ModelOptions& model, std::int64_t numbers) {
  GridShape grid = grid_of(model.shape);
  grid.channels = numbers / grid.points();
  return grid;
}

inline LayerOptions with_norm(LayerOptions layer, NormType norm, Activation activation = Activation::gelu) {
  layer.norm = norm;
  layer.norm_groups = 2;
  layer.activation = activation;
  return layer;
}

inline ModelOptions field(std::vector<std::int64_t> shape, std::int64_t channels,
                          std::vector<LayerOptions> layers) {
  ModelOptions model = test::model_on(std::move(shape), 0, std::move(layers));
  model.outputs = model.inputs / model.shape.back() * channels;
  model.loss = losses::Mse{};
  return model;
}

}  // namespace mylos::box_test

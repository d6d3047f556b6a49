// Small networks of several kinds, and checkpoints of them, for tests of inference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checkpoint/checkpoint_builders.hpp"
#include "model/small_gpt.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/inference_model.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/inference/uncertainty/calibration.hpp"
#include "mylos/inference/uncertainty/stored_inputs.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::test {

struct SmallNetwork {
  std::string name;
  ModelOptions model;
  PrecisionOptions precision;

  [[nodiscard]] Chain chain() const { return make_chain(model, precision, 3, false); }
};

inline ModelOptions perceptron_options(NormType norm = NormType::none) {
  ModelOptions model;
  model.inputs = 6;
  model.outputs = 4;
  model.hidden = {11, 9};
  model.norm = norm;
  model.loss = losses::Mse{};
  return model;
}

/// A chain whose layers keep running statistics.
inline ModelOptions statistics_options() {
  ModelOptions model;
  model.type = ModelType::chain;
  model.inputs = 6;
  model.outputs = 4;
  LayerOptions hidden{.kind = kinds::Dense{}, .outputs = 12};
  hidden.norm = NormType::batchnorm;
  hidden.activation = Activation::relu;
  model.chain = {hidden, hidden, {.kind = kinds::Dense{}}};
  return model;
}

inline std::vector<SmallNetwork> small_networks(DType compute) {
  PrecisionOptions all;
  all.compute = compute;
  PrecisionOptions float_head = all;
  float_head.rules = {{"head", DType::fp32}};
  std::vector<SmallNetwork> networks{{"layer normalisation", perceptron_options(NormType::layernorm), all},
                                     {"batch normalisation", statistics_options(), all},
                                     {"GPT", small_gpt_options(), all},
                                     {"GPT with a float head", small_gpt_options(), float_head}};
  if (compute == DType::fp32) return networks;
  PrecisionOptions no_masters = float_head;
  no_masters.masters = MasterWeights::none;
  networks.push_back({"GPT without masters", small_gpt_options(), no_masters});
  return networks;
}

/// Sets weights and statistics far from their initial values.
inline void set_lively_state(TrainingModel& model) {
  set_lively_weights(model.parameters());
  int seed = 7;
  for (const BufferStore::StateBuffer& buffer : model.buffers().state()) {
    std::vector<float> values = drawn_values(buffer.values.size(), ++seed);
    const bool is_variance = buffer.path.ends_with("variance");
    for (float& value : values) value = is_variance ? 0.5f + std::abs(value) : value;
    set_values(buffer.values, values);
  }
}

/// Inputs of `samples` samples in device memory.
class SmallInputs {
 public:
  SmallInputs(const Chain& chain, std::int64_t samples) {
    const std::int64_t rows = samples * chain.rows_per_sample;
    if (chain.input_type() == DType::int32) {
      tokens_.emplace(drawn_tokens(static_cast<std::size_t>(rows), 13, 5));
      tensor_ = tokens_->tensor();
      return;
    }
    arena_ = Arena("inputs", static_cast<std::size_t>(rows * chain.inputs()) * size_of(chain.input_type()));
    tensor_ = arena_.tensor(0, chain.input_type(), rows, chain.inputs());
    set_values(tensor_, drawn_values(tensor_.size(), 5));
  }
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

 private:
  std::optional<TokenArray> tokens_;
  Arena arena_;
  Tensor tensor_;
};

/// Returns the outputs of rows in the units of the data, on `exec`.
inline std::vector<float> outputs_of(const Execution& exec, const Engines& engines, InferenceModel& model,
                                     const Normalizer& normalizer, std::span<const float> rows) {
  std::vector<float> outputs(rows.size() / static_cast<std::size_t>(model.chain().inputs()) *
                             static_cast<std::size_t>(model.chain().outputs()));
  RowInference({exec, engines, model.passes()}, normalizer).run(rows, outputs);
  return outputs;
}

/// What is stored beside the weights.
struct StoredBeside {
  std::string deck = {};
  Normalizer normalizer = {};
  const ParameterStore* average = nullptr;
  std::optional<InputStatistics> inputs = std::nullopt;
  std::optional<ConformalCalibration> calibration = std::nullopt;
  std::vector<StateText> texts = {};
};

/// All ranks. Writes a checkpoint of step 3.
inline void write_network(RankGroup& ranks, const std::string& path, const TrainingModel& model,
                          const StoredBeside& beside = {}) {
  CheckpointHeader header;
  header.step = 3;
  header.deck = beside.deck;
  StoredData data;
  data.identity = "synthetic";
  data.normalizer = beside.normalizer;
  CheckpointState state = parameter_state(model.parameters());
  if (beside.average != nullptr) {
    const CheckpointState average = parameter_state(*beside.average, true);
    state.arrays.insert(state.arrays.end(), average.arrays.begin(), average.arrays.end());
  }
  add_buffers(state, model.buffers());
  add_stored_data(state, data);
  InputStatistics inputs = beside.inputs.value_or(InputStatistics{});
  add_input_statistics(state, inputs);
  std::optional<ConformalCalibration> calibration = beside.calibration;
  if (calibration) add_calibration(state, *calibration);
  state.texts.insert(state.texts.end(), beside.texts.begin(), beside.texts.end());
  write_checkpoint_file(ranks, path, header, state);
}

}  // namespace mylos::test

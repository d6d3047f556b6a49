#include "mylos/inference/inference_model.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/inference/network_state.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos {
namespace {

/// Enough rows for efficient GEMMs.
constexpr std::int64_t max_inference_rows = 1024;
/// Of a piece's activations, unless one sample takes more.
constexpr std::size_t max_activation_bytes = std::size_t{1} << 30;

}  // namespace

EvaluationLayout inference_layout(const Chain& chain, const Engines& engines, std::int64_t samples) {
  return make_evaluation_layout(chain_cost(chain, engines, samples * chain.rows_per_sample), 0);
}

void read_network(const CheckpointReader& reader, bool average, const ComputeWeights& weights,
                  const BufferStore& buffers) {
  if (average && !has_average(reader))
    fail_input(errors::no_average, "{}: has no /average, the moving average of the weights", reader.path());
  CheckpointState state = weights.state(average);
  add_buffers(state, buffers);
  reader.read(state);
}

InferenceBytes InferenceModel::memory(const Chain& chain, const Engines& engines, std::int64_t samples) {
  return {.weights = ComputeWeights::memory_bytes(chain),
          .statistics = BufferStore::memory_bytes(chain),
          .workspace = inference_layout(chain, engines, samples).bytes};
}

InferenceModel::InferenceModel(Chain chain, const Engines& engines, std::int64_t samples)
    : chain_(std::move(chain)),
      engines_(engines),
      samples_(samples),
      weights_(chain_),
      buffers_(chain_),
      activations_("activations", inference_layout(chain_, engines, samples).bytes),
      pass_(chain_, weights_.of_stages(), buffers_, samples, inference_layout(chain_, engines, samples),
            activations_) {}

void InferenceModel::read(const CheckpointReader& reader, bool average) {
  read(reader, average, read_normalizer(reader));
}

void InferenceModel::read(const CheckpointReader& reader, bool average, Normalizer normalizer) {
  read_network(reader, average, weights_, buffers_);
  normalizer_ = std::move(normalizer);
}

void InferenceModel::copy(const Execution& exec, const TrainingModel& trained) {
  weights_.copy(exec, trained.parameters());
  const auto& from = trained.buffers().state();
  const auto& to = buffers_.state();
  if (from.size() != to.size())
    fail_run(errors::internal, "{} statistics here, but {} in the model", to.size(), from.size());
  for (std::size_t i = 0; i < to.size(); ++i) convert(exec, from[i].values, to[i].values);
  exec.fence("inference model");
}

std::size_t InferenceModel::infer_bytes() const {
  return RowInference::memory_bytes(chain_, samples_);
}

void InferenceModel::infer(const Execution& exec, std::span<const float> inputs, std::span<float> outputs) {
  RowInference({exec, engines_, pass_}, normalizer_).run(inputs, outputs);
}

std::int64_t samples_per_piece(const Chain& chain, const Engines& engines, std::int64_t max_samples) {
  std::int64_t samples = std::max<std::int64_t>(1, max_inference_rows / chain.rows_per_sample);
  samples = std::min(samples, max_samples);
  while (samples > 1 && inference_layout(chain, engines, samples).bytes > max_activation_bytes)
    samples = (samples + 1) / 2;
  return samples;
}

}  // namespace mylos

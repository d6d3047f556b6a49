#include "mylos/inference/inference_model.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/inference/compute_weights.hpp"
#include "mylos/inference/packed_weights.hpp"
#include "mylos/inference/stored/network_state.hpp"
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

struct InferenceModel::Weights {
  Weights(const Chain& chain, const Engines& engines, Packed packing) : compute(chain) {
    if (packing == Packed::of_small_networks) packed.emplace(chain, engines, compute.of_stages());
  }
  [[nodiscard]] const ForwardPass::StageWeights& of_stages() const {
    return packed ? packed->of_stages() : compute.of_stages();
  }

  ComputeWeights compute;
  std::optional<PackedWeights> packed;
};

InferenceBytes InferenceModel::memory(const Chain& chain, const Engines& engines, std::int64_t samples,
                                      Packed packed) {
  const std::size_t packed_bytes = packed == Packed::none ? 0 : PackedWeights::memory_bytes(chain, engines);
  return {.weights = ComputeWeights::memory_bytes(chain),
          .statistics = BufferStore::memory_bytes(chain) + packed_bytes,
          .workspace = inference_layout(chain, engines, samples).bytes};
}

InferenceModel::InferenceModel(Chain chain, const Engines& engines, std::int64_t samples,
                               std::shared_ptr<const Weights> weights)
    : chain_(std::move(chain)),
      engines_(engines),
      samples_(samples),
      weights_(std::move(weights)),
      buffers_(chain_),
      activations_("activations", inference_layout(chain_, engines, samples).bytes),
      pass_(chain_, weights_->of_stages(), buffers_, samples, inference_layout(chain_, engines, samples),
            activations_) {}

InferenceModel::InferenceModel(const Chain& chain, const Engines& engines, std::int64_t samples,
                               Packed packed)
    : InferenceModel(chain, engines, samples, std::make_shared<const Weights>(chain, engines, packed)) {}

InferenceModel::InferenceModel(const InferenceModel& other, const Engines& engines)
    : InferenceModel(other.chain_, engines, other.samples_, other.weights_) {
  copy_statistics(Execution(), other.buffers_, buffers_);
}

void InferenceModel::read(const CheckpointReader& reader, bool average) {
  if (average && !has_average(reader))
    fail_input(errors::no_average, "{}: has no /average, the moving average of the weights", reader.path());
  CheckpointState state = weights_->compute.state(average);
  add_buffers(state, buffers_);
  reader.read(state);
  if (!weights_->packed) return;
  const Execution exec;
  weights_->packed->pack(exec, engines_.gemm);
  exec.fence("packed");
}

void InferenceModel::copy(const Execution& exec, const TrainingModel& trained) {
  weights_->compute.copy(exec, trained.parameters());
  copy_statistics(exec, trained.buffers(), buffers_);
}

void copy_statistics(const Execution& exec, const BufferStore& from, const BufferStore& to) {
  if (from.state().size() != to.state().size())
    fail_run(errors::internal, "{} statistics here, but {} in the model", to.state().size(),
             from.state().size());
  for (std::size_t i = 0; i < to.state().size(); ++i)
    convert(exec, from.state()[i].values, to.state()[i].values);
  exec.fence("statistics");
}

std::int64_t samples_per_piece(const Chain& chain, const Engines& engines, std::int64_t max_samples) {
  std::int64_t samples = std::max<std::int64_t>(1, max_inference_rows / chain.rows_per_sample);
  samples = std::min(samples, max_samples);
  while (samples > 1 && inference_layout(chain, engines, samples).bytes > max_activation_bytes)
    samples = (samples + 1) / 2;
  return samples;
}

}  // namespace mylos

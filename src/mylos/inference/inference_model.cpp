#include "mylos/inference/inference_model.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mylos/base/error.hpp"
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

/// The device memory of infer().
struct InferTensors {
  InferTensors(const Chain& chain, std::int64_t samples, void* memory) : pieces(memory) {
    floats = pieces.take_tensor(DType::fp32, samples, chain.inputs());
    const DType type = chain.input_type();
    inputs = type == DType::fp32 ? floats : pieces.take_tensor(type, samples, chain.inputs());
    outputs = pieces.take_tensor(DType::fp32, samples, chain.outputs());
  }

  Pieces pieces;
  Tensor floats;   // inputs as floats
  Tensor inputs;   // in the type that the chain reads
  Tensor outputs;  // as floats
};

template <class T>
using HostFloats = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

}  // namespace

EvaluationLayout inference_layout(const Chain& chain, const Engines& engines, std::int64_t samples) {
  return make_evaluation_layout(chain_cost(chain, engines, samples * chain.rows_per_sample), 0);
}

void read_network(const CheckpointReader& reader, bool average, const ComputeWeights& weights,
                  const BufferStore& buffers) {
  if (average && !has_average(reader))
    fail_input(ErrorId::no_average, "{}: has no /average, the moving average of the weights", reader.path());
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
  read_network(reader, average, weights_, buffers_);
  normalizer_ = read_normalizer(reader);
}

void InferenceModel::copy(const Execution& exec, const TrainingModel& trained) {
  weights_.copy(exec, trained.parameters());
  const auto& from = trained.buffers().state();
  const auto& to = buffers_.state();
  if (from.size() != to.size())
    fail_run(ErrorId::internal, "{} statistics here, but {} in the model", to.size(), from.size());
  for (std::size_t i = 0; i < to.size(); ++i) convert(exec, from[i].values, to[i].values);
  exec.fence("inference model");
}

std::size_t InferenceModel::infer_bytes() const {
  return InferTensors(chain_, samples_, nullptr).pieces.bytes();
}

void InferenceModel::infer(const Execution& exec, std::span<const float> inputs, std::span<float> outputs) {
  if (chain_.input_type() == DType::int32)
    fail_input(ErrorId::bad_call, "the network reads tokens, not floats");
  const auto columns = static_cast<std::size_t>(chain_.inputs());
  const auto width = static_cast<std::size_t>(chain_.outputs());
  const std::size_t rows = inputs.size() / columns;
  if (inputs.size() != rows * columns || outputs.size() != rows * width) {
    fail_input(ErrorId::bad_call, "{} inputs and {} outputs; a row has {} inputs and {} outputs",
               inputs.size(), outputs.size(), columns, width);
  }
  const ColumnScaling& scaling = normalizer_.inputs;
  if (!scaling.identity() && scaling.shift.size() != columns)
    fail_input(ErrorId::damaged, "inputs are normalised by {} columns, the network has {}",
               scaling.shift.size(), columns);
  const Arena memory("inference", infer_bytes());
  const InferTensors tensors(chain_, samples_, memory.data());
  std::vector<float> scaled(static_cast<std::size_t>(samples_) * columns);
  const auto inputs_of = [&](std::int64_t first, std::int64_t count) {
    const std::size_t values = static_cast<std::size_t>(count) * columns;
    scaling.apply(inputs.subspan(static_cast<std::size_t>(first) * columns, values), scaled);
    const Tensor floats = tensors.floats.row_range(0, count);
    Kokkos::deep_copy(floats.flat<float>(), HostFloats<const float>(scaled.data(), values));
    const Tensor read = tensors.inputs.row_range(0, count);
    if (read.type() != DType::fp32) convert(exec, floats, read);
    return read;
  };
  const auto take = [&](std::int64_t first, const ConstTensor& found) {
    const Tensor floats = tensors.outputs.row_range(0, found.rows());
    convert(exec, found, floats);
    exec.fence("predictions");
    float* const to = outputs.data() + static_cast<std::size_t>(first) * width;
    Kokkos::deep_copy(HostFloats<float>(to, static_cast<std::size_t>(floats.size())), floats.flat<float>());
  };
  infer_in_pieces({exec, engines_, pass_}, static_cast<std::int64_t>(rows), samples_, inputs_of, take);
  normalizer_.undo_targets(outputs);
}

std::int64_t samples_per_piece(const Chain& chain, const Engines& engines, std::int64_t max_samples) {
  std::int64_t samples = std::max<std::int64_t>(1, max_inference_rows / chain.rows_per_sample);
  samples = std::min(samples, max_samples);
  while (samples > 1 && inference_layout(chain, engines, samples).bytes > max_activation_bytes)
    samples = (samples + 1) / 2;
  return samples;
}

}  // namespace mylos

#include "mylos/inference/infer.hpp"

#include <algorithm>
#include <cmath>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/tensor_views.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

template <class T>
using HostFloats = Kokkos::View<T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

}  // namespace

RowInference::Tensors::Tensors(const Chain& chain, std::int64_t samples, void* memory) : pieces(memory) {
  floats = pieces.take_tensor(DType::fp32, samples, chain.inputs());
  const DType type = chain.input_type();
  inputs = type == DType::fp32 ? floats : pieces.take_tensor(type, samples, chain.inputs());
  outputs = pieces.take_tensor(DType::fp32, samples, chain.outputs());
}

RowInference::RowInference(const InferenceContext& context, const Normalizer& normalizer,
                           bool has_missing_inputs)
    : context_(context),
      normalizer_(normalizer),
      has_missing_inputs_(has_missing_inputs),
      memory_("inference", memory_bytes(context.model.chain(), context.model.samples())),
      tensors_(context.model.chain(), context.model.samples(), memory_.data()),
      scaled_(static_cast<std::size_t>(context.model.samples() * context.model.chain().inputs())) {}

std::size_t RowInference::memory_bytes(const Chain& chain, std::int64_t samples) {
  return Tensors(chain, samples, nullptr).pieces.bytes();
}

void RowInference::run(std::span<const float> inputs, std::span<float> outputs, const DropoutMask& mask) {
  const Chain& chain = context_.model.chain();
  if (chain.input_type() == DType::int32)
    fail_input(errors::bad_call, "the network reads tokens, not floats");
  const auto columns = static_cast<std::size_t>(chain.inputs());
  const auto width = static_cast<std::size_t>(chain.outputs());
  const std::size_t rows = inputs.size() / columns;
  if (inputs.size() != rows * columns || outputs.size() != rows * width) {
    fail_input(errors::bad_call, "{} inputs and {} outputs; a row has {} inputs and {} outputs",
               inputs.size(), outputs.size(), columns, width);
  }
  const ColumnScaling& scaling = normalizer_.inputs;
  if (!scaling.identity() && scaling.shift.size() != columns)
    fail_input(errors::damaged, "inputs are normalised by {} columns, the network has {}",
               scaling.shift.size(), columns);
  const auto inputs_of = [&](std::int64_t first, std::int64_t count) {
    const std::size_t values = static_cast<std::size_t>(count) * columns;
    scaling.apply(inputs.subspan(static_cast<std::size_t>(first) * columns, values), scaled_);
    if (has_missing_inputs_)
      std::replace_if(
          scaled_.begin(), scaled_.end(), [](float value) { return std::isnan(value); }, 0.0f);
    const Tensor floats = tensors_.floats.row_range(0, count);
    Kokkos::deep_copy(floats.flat<float>(), HostFloats<const float>(scaled_.data(), values));
    const Tensor read = tensors_.inputs.row_range(0, count);
    if (read.type() != DType::fp32) convert(context_.exec, floats, read);
    return read;
  };
  const auto take = [&](std::int64_t first, const ConstTensor& found) {
    const Tensor floats = tensors_.outputs.row_range(0, found.rows());
    convert(context_.exec, found, floats);
    context_.exec.fence("predictions");
    float* const to = outputs.data() + static_cast<std::size_t>(first) * width;
    Kokkos::deep_copy(HostFloats<float>(to, static_cast<std::size_t>(floats.size())), floats.flat<float>());
  };
  infer_in_pieces(context_, static_cast<std::int64_t>(rows), context_.model.samples(), inputs_of, take, mask);
  normalizer_.undo_targets(outputs);
}

void finish_exchanges(const InferenceContext& context) {
  if (context.communicator != nullptr) context.communicator->synchronize(context.exec);
}

void run_batch(const InferenceContext& context, const Staging& staging, const Batch& batch,
               const AfterBatch& after) {
  const MicroBatch staged = staging.stage(context.exec, batch);
  if constexpr (!memory_is_host) context.exec.fence("staged batch");  // the pass fills its buffer again
  const StepContext step{.exec = context.exec,
                         .engines = context.engines,
                         .training = false,
                         .sample_ranks = context.sample_ranks};
  context.model.forward(step, staged.inputs);
  after(step, staged, batch);
  finish_exchanges(context);
}

bool run_next_batch(const InferenceContext& context, const Staging& staging, EvaluationPass& pass,
                    const AfterBatch& after) {
  const Batch* batch = pass.next();
  if (batch == nullptr) return false;
  run_batch(context, staging, *batch, after);
  return true;
}

std::size_t float_output_bytes(const Chain& chain, std::int64_t samples) {
  return aligned_bytes(static_cast<std::size_t>(samples * chain.outputs()) * sizeof(float));
}

void copy_outputs(const StepContext& context, const ForwardPass& model, const Tensor& floats,
                  std::vector<float>& to) {
  convert(context.exec, model.head_outputs(context, 0, floats.rows()), floats);
  context.exec.fence("predictions");
  to.resize(static_cast<std::size_t>(floats.size()));
  Kokkos::deep_copy(Kokkos::View<float*, Kokkos::HostSpace>(to.data(), to.size()), floats.flat<float>());
}

void copy_deviations(const StepContext& context, const ForwardPass& model, std::int64_t samples,
                     std::span<float> to) {
  const ConstTensor deviations = model.head_deviations(context, 0, samples);
  context.exec.fence("deviations");
  Kokkos::deep_copy(HostFloats<float>(to.data(), to.size()), deviations.flat<float>());
}

void copy_quantiles(const StepContext& context, const ForwardPass& model, std::int64_t samples,
                    std::span<float> to) {
  const std::size_t levels = model.chain().quantiles().size();
  for (std::size_t level = 0; level < levels; ++level) {
    const std::span<float> of_level = to.subspan(level * (to.size() / levels), to.size() / levels);
    const ConstTensor quantiles = model.head_quantiles(context, 0, samples, level);
    context.exec.fence("quantiles");
    Kokkos::deep_copy(HostFloats<float>(of_level.data(), of_level.size()), quantiles.flat<float>());
  }
}

}  // namespace mylos

#include "mylos/train/plan/rehearsal.hpp"

#include <algorithm>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

// Gradients are sums over rows. With noise of this size they stay far below the maximum of half.
constexpr float noise_bound = 0.01f;

void draw_noise(const Execution& exec, float* values, std::int64_t count) {
  const RandomStream stream(0, RandomPurpose::calibration, "noise");
  for_each_element(
      exec, "draw noise", count, KOKKOS_LAMBDA(const std::int64_t i) {
        const float uniform = uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i)));
        values[i] = (2.0f * uniform - 1.0f) * noise_bound;
      });
}

/// Draws tokens or labels.
void draw_choices(const Execution& exec, std::int32_t* values, std::int64_t count, std::int64_t choices) {
  const RandomStream stream(0, RandomPurpose::calibration, "choices");
  for_each_element(
      exec, "draw choices", count, KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint32_t word = stream.word(0, 0, static_cast<std::uint64_t>(i));
        values[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(word >> 1) % choices);
      });
}

std::size_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType type) {
  return aligned_bytes(static_cast<std::size_t>(rows * columns) * size_of(type));
}

RehearsalLayout layout_of(const Chain& chain, const Engines& engines, std::int64_t rows) {
  RehearsalLayout layout;
  std::size_t end = 0;
  const auto take = [&end](std::size_t bytes) {
    end += bytes;
    return end - bytes;
  };
  std::size_t workspace = chain.head->cost(engines, rows).workspace;
  std::size_t widest_output = 0;
  std::size_t widest_skip = 0;
  const Signature& head = chain.head->signature();
  std::size_t widest_input = matrix_bytes(rows, head.inputs, head.input_type);
  std::int64_t columns = std::max(head.inputs, head.outputs);
  for (const auto& block : chain.blocks) {
    const BlockCost cost = block->cost(engines, rows);
    const Signature& signature = block->signature();
    const std::size_t input = matrix_bytes(rows, signature.inputs, signature.input_type);
    std::size_t saved = 0;
    workspace = std::max(workspace, cost.forward_workspace);
    for (const SavedVariant& variant : cost.variants) {
      saved = std::max(saved, variant.saved_bytes);
      workspace = std::max(workspace, variant.backward_workspace);
    }
    layout.variants = std::max(layout.variants, cost.variants.size());
    const std::size_t skip = matrix_bytes(rows, signature.skip_inputs, signature.skip_type);
    layout.blocks.push_back({take(input), take(cost.output_bytes), take(saved), take(skip)});
    widest_skip = std::max(widest_skip, skip);
    widest_input = std::max(widest_input, input);
    widest_output = std::max(widest_output, cost.output_bytes);
    columns = std::max({columns, signature.inputs, signature.outputs, signature.skip_inputs});
  }
  layout.noise_count = rows * columns;
  layout.noise = take(matrix_bytes(rows, columns, DType::fp32));
  layout.labels = take(matrix_bytes(rows, 1, DType::int32));
  layout.output_gradient = take(widest_output);
  layout.input_gradient = take(widest_input);
  layout.skip_gradient = take(widest_skip);
  layout.workspace = take(workspace);
  layout.bytes = end;
  return layout;
}

/// Returns the layout with a single bucket: no other rank waits for a part of the gradients.
ParameterLayout parameters_of(const Chain& chain) {
  return make_parameter_layout(chain, std::int64_t{1} << 40, 1);
}

std::vector<Tensor> all_gradients(const ParameterStore& parameters) {
  std::vector<Tensor> result;
  for (const GradientBucket& bucket : parameters.layout().buckets) {
    result.push_back(parameters.gradient(bucket));
  }
  return result;
}

template <class Value>
void set(const Kokkos::View<Value, Device>& view, Value value) {
  Kokkos::deep_copy(view, Kokkos::View<Value, Kokkos::HostSpace>(&value));
}

}  // namespace

std::size_t Rehearsal::memory_bytes(const OptimizerOptions& optimizer, const Chain& chain,
                                    const Engines& engines, std::int64_t rows) {
  const ParameterLayout layout = parameters_of(chain);
  return layout.bytes() + BufferStore::memory_bytes(chain) + Optimizer::memory_bytes(optimizer, layout) +
         Optimizer::list_bytes(optimizer, layout) + layout_of(chain, engines, rows).bytes;
}

std::size_t Rehearsal::bytes_between_uses(const Chain& chain, const Engines& engines, std::int64_t rows) {
  const ParameterLayout layout = parameters_of(chain);
  return layout.compute_bytes + layout.gradient_bytes + layout_of(chain, engines, rows).bytes;
}

Rehearsal::Rehearsal(const Options& options, Chain chain, const Engines& engines, std::int64_t rows,
                     bool accumulates, std::function<double()> clock)
    : engines_(engines),
      chain_(std::move(chain)),
      rows_(rows),
      accumulates_(accumulates),
      clock_(std::move(clock)),
      layout_(layout_of(chain_, engines, rows)),
      parameters_(parameters_of(chain_)),
      buffers_(chain_),
      divisors_(parameters_.layout().buckets.size(), 1.0f),
      optimizer_(options.optimizer, parameters_, divisors_),
      check_(all_gradients(parameters_), divisors_, 0),
      arena_("calibration", layout_.bytes),
      context_{exec_, engines_, step_.data()} {
  parameters_.initialize(exec_, options.run.seed);
  draw_noise(exec_, reinterpret_cast<float*>(at(layout_.noise)), layout_.noise_count);
  draw_choices(exec_, reinterpret_cast<std::int32_t*>(at(layout_.labels)), rows, chain_.outputs());
  if (chain_.input_type() == DType::int32) {
    const std::int64_t vocabulary = chain_.blocks.front()->parameters().front().rows;
    draw_choices(exec_, reinterpret_cast<std::int32_t*>(at(layout_.blocks.front().input)), rows, vocabulary);
  }
  // A learning rate of 0 leaves the weights unchanged; the memory traffic is the same.
  set(control_, UpdateControl{.apply = 1, .gradient_factor = 1});
  set(scale_, 1.0f);
}

Tensor Rehearsal::tensor(std::size_t offset, DType type, std::int64_t columns) const {
  return arena_.tensor(offset, type, rows_, columns);
}

BlockMemory Rehearsal::memory_of(std::size_t block, std::size_t variant) const {
  const Signature& now = chain_.signature(block);
  const RehearsalLayout::BlockOffsets& offsets = layout_.blocks[block];
  return {.weights = parameters_.weights(block),
          .input = tensor(offsets.input, now.input_type, now.inputs),
          .output = tensor(offsets.output, now.output_type, now.outputs),
          .skip = now.skip_inputs == 0 ? Tensor() : tensor(offsets.skip, now.skip_type, now.skip_inputs),
          .buffers = buffers_.of(block),
          .saved = at(offsets.saved),
          .workspace = at(layout_.workspace),
          .variant = variant};
}

void Rehearsal::copy_noise(const Tensor& target) const {
  const Tensor noise(at(layout_.noise), DType::fp32, target.rows(), target.columns());
  convert(exec_, noise, target);
}

/// Returns the milliseconds of `work` on the device.
template <class Work>
double Rehearsal::time_of(const Work& work) const {
  exec_.fence("calibration");
  const double start = clock_();
  work();
  exec_.fence("calibration");
  return clock_() - start;
}

double Rehearsal::forward(std::size_t block, std::size_t variant) {
  const Signature& now = chain_.signature(block);
  const RehearsalLayout::BlockOffsets& offsets = layout_.blocks[block];
  if (now.input_type != DType::int32) copy_noise(tensor(offsets.input, now.input_type, now.inputs));
  if (now.skip_inputs != 0) copy_noise(tensor(offsets.skip, now.skip_type, now.skip_inputs));
  const BlockMemory memory = memory_of(block, variant);
  return time_of([&] { chain_.blocks[block]->forward(context_, memory); });
}

double Rehearsal::loss() {
  const std::size_t stage = chain_.blocks.size();
  const LossHead& head = *chain_.head;
  const Signature& now = head.signature();
  const Tensor input = tensor(layout_.output_gradient, now.input_type, now.inputs);
  copy_noise(input);
  const bool has_labels = head.prediction() == Prediction::classes;
  Truth truth;
  if (has_labels) truth.labels = reinterpret_cast<const std::int32_t*>(at(layout_.labels));
  if (!has_labels) truth.targets = reinterpret_cast<const float*>(at(layout_.noise));
  const LossGradients gradients{.weights = parameters_.gradients(stage),
                                .accumulate = accumulates_,
                                .input = tensor(layout_.input_gradient, now.input_type, now.inputs),
                                .scale = scale_.data(),
                                .inverse_count = 1.0f / static_cast<float>(rows_)};
  const LossMemory memory{parameters_.weights(stage), input, at(layout_.workspace), buffers_.constants()};
  return time_of([&] { head.evaluate_and_seed(context_, memory, truth, gradients, sums_.data()); });
}

double Rehearsal::backward(std::size_t block, std::size_t variant) {
  const Signature& now = chain_.signature(block);
  const Tensor output_gradient = tensor(layout_.output_gradient, now.output_type, now.outputs);
  copy_noise(output_gradient);
  const Tensor input_gradient =
      block == 0 ? Tensor() : tensor(layout_.input_gradient, now.input_type, now.inputs);
  const BlockGradients gradients{.weights = parameters_.gradients(block),
                                 .accumulate = accumulates_,
                                 .output = output_gradient,
                                 .input = input_gradient,
                                 .skip = now.skip_inputs == 0
                                             ? Tensor()
                                             : tensor(layout_.skip_gradient, now.skip_type, now.skip_inputs)};
  const BlockMemory memory = memory_of(block, variant);
  return time_of([&] { chain_.blocks[block]->backward(context_, memory, gradients); });
}

double Rehearsal::check_and_update() {
  return time_of([&] {
    check_.run(exec_, scale_.data(), agreement_);
    optimizer_.update(exec_, control_.data());
  });
}

}  // namespace mylos

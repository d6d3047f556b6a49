#include "mylos/model/network/schedule_pass.hpp"

#include <algorithm>
#include <utility>

#include "mylos/kernels/pointwise/residual.hpp"
#include "mylos/model/rollout/rollout_chain.hpp"

namespace mylos {
namespace {

std::size_t bytes_of_input(const Chain& chain, std::int64_t samples) {
  return aligned_bytes(static_cast<std::size_t>(samples * chain.rows_per_sample * chain.inputs()) *
                       size_of(chain.input_type()));
}

}  // namespace

PlacedSchedule::PlacedSchedule(Chain of, const ChainCost& cost, Schedule operations)
    : chain(std::move(of)), skips(chain.all_skips()), schedule(std::move(operations)) {
  if (!schedule.empty()) lifetimes = trace_lifetimes(cost, schedule);
  if (!schedule.empty()) placement = place(lifetimes);
  const auto is_loss = [](const Operation& operation) { return operation.kind == OperationKind::loss; };
  loss = static_cast<std::size_t>(std::find_if(schedule.begin(), schedule.end(), is_loss) - schedule.begin());
}

std::size_t input_gradient_bytes(const Chain& chain, std::int64_t samples) {
  if (!chain.input_gradients) return 0;
  const bool is_skip = std::find(chain.skips.begin(), chain.skips.end(), 0u) != chain.skips.end();
  return (is_skip ? 2 : 1) * bytes_of_input(chain, samples);
}

SchedulePass::SchedulePass(const PlacedSchedule& placed, const PassMemory& memory, const ConstTensor& input)
    : placed_(placed), memory_(memory), input_(input) {}

std::size_t SchedulePass::stage_of(std::size_t block) const {
  return stage_of_copy(block, memory_.weights.size() - 1);
}

std::byte* SchedulePass::at(std::size_t offset) const {
  return offset == nowhere ? nullptr : memory_.activations.data() + offset;
}

Tensor SchedulePass::tensor_of(std::size_t boundary, std::size_t offset) const {
  const Signature& writer = placed_.chain.signature(boundary - 1);
  return memory_.activations.tensor(offset, writer.output_type, input_.rows(), writer.outputs);
}

Tensor SchedulePass::output() const {
  return tensor_of(placed_.chain.blocks.size(), placed_.placement.operations[placed_.loss].input);
}

Tensor SchedulePass::output_gradient() const {
  return tensor_of(placed_.chain.blocks.size(), placed_.placement.operations[placed_.loss].input_gradient);
}

Tensor SchedulePass::input_gradient(std::size_t part) const {
  return memory_.input_gradients.tensor(part * bytes_of_input(placed_.chain, memory_.samples),
                                        placed_.chain.input_type(), input_.rows(), placed_.chain.inputs());
}

/// Returns the skip tensor that the block reads; empty if there is none.
ConstTensor SchedulePass::skip_of(std::size_t block, std::size_t offset) const {
  const std::size_t source = placed_.skips.source(block);
  if (source == 0) return input_;
  return offset == nowhere ? ConstTensor() : tensor_of(source, offset);
}

BlockMemory SchedulePass::memory_of(std::size_t i) const {
  const Operation& operation = placed_.schedule[i];
  const OperationPlaces& places = placed_.placement.operations[i];
  const std::size_t block = operation.block;
  return {.weights = memory_.weights[stage_of(block)],
          .input = block == 0 ? input_ : tensor_of(block, places.input),
          .output = tensor_of(block + 1, places.output),
          .skip = skip_of(block, places.skip),
          .buffers = memory_.buffers.of(stage_of(block)),
          .saved = at(places.saved),
          .workspace = at(places.workspace),
          .variant = operation.variant};
}

void SchedulePass::forward(const StepContext& context, std::size_t i, bool is_recompute) const {
  const std::size_t block = placed_.schedule[i].block;
  BlockMemory memory = memory_of(i);
  memory.is_recompute = is_recompute;
  memory.has_norm = i > 0 && !placed_.fused.empty() && placed_.fused[i - 1];
  std::optional<InputNorm> next_norm;
  if (!placed_.fused.empty() && placed_.fused[i])
    next_norm = placed_.chain.blocks[block + 1]->input_norm(context, memory_of(i + 1));
  if (next_norm) memory.next_norm = &*next_norm;
  placed_.chain.blocks[block]->forward(context, memory);
}

void SchedulePass::backward(const StepContext& context, std::size_t i, const BackwardWants& wants) const {
  const std::size_t block = placed_.schedule[i].block;
  const OperationPlaces& places = placed_.placement.operations[i];
  const Skips& skips = placed_.skips;
  // The last copy's backward pass comes first.
  const std::size_t blocks_of_copy = memory_.weights.size() - 1;
  const bool is_last_copy = block + blocks_of_copy >= placed_.chain.blocks.size();
  BlockGradients gradients{.weights = memory_.gradients[stage_of(block)],
                           .wants_weights = wants.weights,
                           .accumulate = wants.accumulate || !is_last_copy,
                           .output = tensor_of(block + 1, places.output_gradient),
                           .input = block == 0 ? Tensor() : tensor_of(block, places.input_gradient),
                           .skip = places.skip_gradient == nowhere
                                       ? Tensor()
                                       : tensor_of(skips.source(block), places.skip_gradient),
                           .add_to_skip = !skips.starts_gradient(block)};
  if (wants.input && block == 0) gradients.input = input_gradient(0);
  if (wants.input && skips.source(block) == 0) {
    gradients.skip = input_gradient(1);
    gradients.add_to_skip = skips.last_reader(0) != block;
  }
  placed_.chain.blocks[block]->backward(context, memory_of(i), gradients);
  if (wants.input && block == 0 && skips.last_reader(0) != no_skip)
    residual_forward(context.exec, gradients.input, input_gradient(1), gradients.input, {});
  if (places.carried_gradient != nowhere) {
    residual_forward(context.exec, gradients.input, tensor_of(block, places.carried_gradient),
                     gradients.input, {});
  }
}

}  // namespace mylos

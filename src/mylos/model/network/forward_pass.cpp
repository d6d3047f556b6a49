#include "mylos/model/network/forward_pass.hpp"

#include <utility>

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/chain/key_value_cache.hpp"

namespace mylos {

ForwardPass::ForwardPass(const Chain& chain, StageWeights weights, const BufferStore& buffers,
                         std::int64_t samples, EvaluationLayout layout, const Arena& activations)
    : chain_(chain),
      skips_(chain.all_skips()),
      weights_(std::move(weights)),
      buffers_(buffers),
      samples_(samples),
      layout_(std::move(layout)),
      activations_(activations) {}

std::byte* ForwardPass::at(std::size_t offset) const {
  return offset == nowhere ? nullptr : activations_.data() + offset;
}

/// Returns x_i of the rows of the last forward().
Tensor ForwardPass::tensor_of(std::size_t boundary, std::size_t offset) const {
  const Signature& writer = chain_.signature(boundary - 1);
  return activations_.tensor(offset, writer.output_type, input_.rows(), writer.outputs);
}

/// Returns what the block reads besides its input; an empty tensor where that is nothing.
ConstTensor ForwardPass::skip_of(std::size_t block) const {
  const std::size_t source = skips_.source(block);
  if (source == 0) return input_;
  const std::size_t offset = layout_.skip[block];
  return offset == nowhere ? ConstTensor() : tensor_of(source, offset);
}

void ForwardPass::require_planned(const StepContext& context, const ConstTensor& input) const {
  const std::int64_t max_rows = samples_ * chain_.rows_per_sample;
  if (input.rows() > max_rows || input.columns() != chain_.inputs()) {
    fail_run(errors::internal, "forward of [{}, {}] inputs: the model was planned for at most {} rows of {}",
             input.rows(), input.columns(), max_rows, chain_.inputs());
  }
  if (context.cache != nullptr) {
    context.cache->require_room(input.rows());
  } else if (input.rows() % chain_.rows_per_sample != 0) {
    fail_run(errors::internal, "forward of {} rows: a sample has {}", input.rows(), chain_.rows_per_sample);
  }
}

void ForwardPass::forward(const StepContext& context, const ConstTensor& input, const Observer* observer) {
  const Region region("forward");
  require_planned(context, input);
  input_ = input;
  observe(observer, 0, "input", input);
  ConstTensor x = input;
  for (std::size_t i = 0; i < chain_.blocks.size(); ++i) {
    observe_parameters(observer, chain_, i, weights_[i], "");
    output_ = tensor_of(i + 1, layout_.output[i]);
    chain_.blocks[i]->forward(context, {.weights = weights_[i],
                                        .input = x,
                                        .output = output_,
                                        .skip = skip_of(i),
                                        .buffers = buffers_.of(i),
                                        .workspace = at(layout_.workspace[i])});
    observe(observer, i, "output", output_);
    x = output_;
  }
  if (context.cache != nullptr) context.cache->advance(input.rows());
}

LossMemory ForwardPass::head_memory() const {
  return {weights_[chain_.blocks.size()], output_, at(layout_.workspace.back()), buffers_.constants()};
}

ConstTensor ForwardPass::head_outputs(const StepContext& context, std::int64_t first,
                                      std::int64_t count) const {
  LossMemory memory = head_memory();
  memory.input = output_.row_range(first, count);
  return chain_.head->outputs_of(context, memory);
}

ConstTensor ForwardPass::head_deviations(const StepContext& context, std::int64_t first,
                                         std::int64_t count) const {
  LossMemory memory = head_memory();
  memory.input = output_.row_range(first, count);
  return chain_.head->deviations_of(context, memory);
}

ConstTensor ForwardPass::head_quantiles(const StepContext& context, std::int64_t first, std::int64_t count,
                                        std::size_t level) const {
  LossMemory memory = head_memory();
  memory.input = output_.row_range(first, count);
  return chain_.head->quantile_of(context, memory, level);
}

void ForwardPass::loss(const StepContext& context, const Truth& truth, LossSums* sums) const {
  const Region region("loss");
  chain_.head->evaluate(context, head_memory(), truth, sums);
}

}  // namespace mylos

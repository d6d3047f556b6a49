#include "mylos/model/network/training_model.hpp"

#include <algorithm>

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/pointwise/gradient_scale.hpp"
#include "mylos/kernels/pointwise/residual.hpp"
#include "mylos/model/chain/chain_cost.hpp"

namespace mylos {
namespace {

bool exchanges(const Chain& chain) {
  return std::any_of(chain.blocks.begin(), chain.blocks.end(),
                     [](const auto& block) { return block->exchanges_in_passes(); });
}

std::size_t bytes_of_input(const Chain& chain, std::int64_t samples) {
  return aligned_bytes(static_cast<std::size_t>(samples * chain.rows_per_sample * chain.inputs()) *
                       size_of(chain.input_type()));
}

}  // namespace

TrainingModel::TrainingModel(Chain chain, ParameterLayout layout, const Engines& engines,
                             std::int64_t samples, std::optional<Schedule> schedule, int rank)
    : chain_(std::move(chain)),
      skips_(chain_.all_skips()),
      parameters_(std::move(layout), rank),
      buffers_(chain_),
      exchanges_in_passes_(exchanges(chain_)),
      samples_(samples),
      schedule_(schedule ? std::move(*schedule) : store_all(chain_.blocks.size())) {
  const ChainCost cost = chain_cost(chain_, engines, samples * chain_.rows_per_sample);
  if (!schedule_.empty()) placement_ = place(trace_lifetimes(cost, schedule_));
  const auto is_loss = [](const Operation& operation) { return operation.kind == OperationKind::loss; };
  loss_ =
      static_cast<std::size_t>(std::find_if(schedule_.begin(), schedule_.end(), is_loss) - schedule_.begin());
  EvaluationLayout evaluation = make_evaluation_layout(cost, placement_.bytes);
  arena_ = Arena("activations", evaluation.bytes);
  input_gradients_ = Arena("input gradients", input_gradient_bytes(chain_, samples));
  ForwardPass::StageWeights weights;
  for (std::size_t stage = 0; stage <= chain_.blocks.size(); ++stage)
    weights.push_back(parameters_.weights(stage));
  evaluation_.emplace(chain_, std::move(weights), buffers_, samples, std::move(evaluation), arena_);
}

std::size_t TrainingModel::input_gradient_bytes(const Chain& chain, std::int64_t samples) {
  if (!chain.input_gradients) return 0;
  const bool is_skip = std::find(chain.skips.begin(), chain.skips.end(), 0u) != chain.skips.end();
  return (is_skip ? 2 : 1) * bytes_of_input(chain, samples);
}

Tensor TrainingModel::input_gradient(std::size_t part) const {
  return input_gradients_.tensor(part * bytes_of_input(chain_, samples_), chain_.input_type(), input_.rows(),
                                 chain_.inputs());
}

std::byte* TrainingModel::at(std::size_t offset) const {
  return offset == nowhere ? nullptr : arena_.data() + offset;
}

/// Returns x_i, or its gradient, for the rows of the last forward().
Tensor TrainingModel::tensor_of(std::size_t boundary, std::size_t offset) const {
  const Signature& writer = chain_.signature(boundary - 1);
  return arena_.tensor(offset, writer.output_type, input_.rows(), writer.outputs);
}

/// Returns the skip tensor that the block reads; empty if there is none.
ConstTensor TrainingModel::skip_of(std::size_t block, std::size_t offset) const {
  const std::size_t source = skips_.source(block);
  if (source == 0) return input_;
  return offset == nowhere ? ConstTensor() : tensor_of(source, offset);
}

BlockMemory TrainingModel::memory_of(const Operation& operation, const OperationPlaces& places) const {
  const std::size_t block = operation.block;
  return {.weights = parameters_.weights(block),
          .input = block == 0 ? input_ : tensor_of(block, places.input),
          .output = tensor_of(block + 1, places.output),
          .skip = skip_of(block, places.skip),
          .buffers = buffers_.of(block),
          .saved = at(places.saved),
          .workspace = at(places.workspace),
          .variant = operation.variant};
}

void TrainingModel::begin_step(const Execution& exec) {
  progress_ = {};
  if (!buffers_.sums().empty()) set_to_zero(exec, buffers_.sums());
}

void TrainingModel::move_state(const Execution& exec, const std::int32_t* apply) const {
  if (buffers_.state().empty()) return;
  for (std::size_t block = 0; block < chain_.blocks.size(); ++block)
    chain_.blocks[block]->move_state(exec, buffers_.of(block), apply);
}

void TrainingModel::run_forward(const StepContext& context, std::size_t operation, bool is_recompute) const {
  const Operation& now = schedule_[operation];
  BlockMemory memory = memory_of(now, placement_.operations[operation]);
  memory.is_recompute = is_recompute;
  chain_.blocks[now.block]->forward(context, memory);
}

void TrainingModel::forward(const StepContext& context, const ConstTensor& input, const Observer* observer,
                            const BeforeBlock* before_block) {
  input_ = input;
  trains_ = context.training;
  if (!trains_) {
    evaluation_->forward(context, input, observer);
    output_ = evaluation_->output();
    return;
  }
  const Region region("forward");
  evaluation_->require_planned(context, input);
  if (context.cache != nullptr) fail_run(ErrorId::internal, "a key-value cache is for evaluation");
  if (schedule_.empty()) fail_run(ErrorId::internal, "this model was made for evaluation only");
  observe(observer, 0, "input", input);
  progress_ = {};
  for (std::size_t i = 0; i < loss_; ++i) {
    const std::size_t block = schedule_[i].block;
    const bool is_recompute = block < progress_.forward;
    const Observer* first_time = is_recompute ? nullptr : observer;
    if (before_block != nullptr) (*before_block)(block);
    observe_parameters(first_time, chain_, block, parameters_.weights(block), "");
    run_forward(context, i, is_recompute);
    progress_.forward = std::max(progress_.forward, block + 1);
    observe(first_time, block, "output", tensor_of(block + 1, placement_.operations[i].output));
  }
  output_ = tensor_of(chain_.blocks.size(), placement_.operations[loss_].input);
}

LossMemory TrainingModel::loss_memory() const {
  if (!trains_) return evaluation_->head_memory();
  return {parameters_.weights(chain_.blocks.size()), output_, at(placement_.operations[loss_].workspace),
          buffers_.constants()};
}

ConstTensor TrainingModel::head_outputs(const StepContext& context, std::int64_t first, std::int64_t count) {
  LossMemory memory = loss_memory();
  memory.input = output_.row_range(first, count);
  return chain_.head->outputs_of(context, memory);
}

void TrainingModel::loss(const StepContext& context, const Truth& truth, LossSums* sums) {
  const Region region("loss");
  chain_.head->evaluate(context, loss_memory(), truth, sums);
}

void TrainingModel::loss_and_seed(const StepContext& context, const Truth& truth, const LossSeed& seed,
                                  LossSums* sums, const Observer* observer) {
  const Region region("loss");
  if (!trains_) fail_run(ErrorId::internal, "backward() needs a preceding forward pass in training mode");
  const std::size_t head = chain_.blocks.size();
  const Tensor gradient = tensor_of(head, placement_.operations[loss_].input_gradient);
  const LossGradients gradients{.weights = parameters_.gradients(head),
                                .accumulate = seed.accumulate,
                                .input = gradient,
                                .scale = seed.scale,
                                .inverse_count = seed.inverse_count};
  observe_parameters(observer, chain_, head, parameters_.weights(head), "");
  chain_.head->evaluate_and_seed(context, loss_memory(), truth, gradients, sums);
  observe_parameters(observer, chain_, head, parameters_.gradients(head), " gradient");
  observe(observer, head - 1, "output gradient", gradient);
}

void TrainingModel::seed(const StepContext& context, const ConstTensor& d_outputs, const float* scale,
                         float factor) {
  const std::size_t head = chain_.blocks.size();
  if (!trains_) fail_run(ErrorId::internal, "backward() needs a preceding forward pass in training mode");
  if (!parameters_.gradients(head).empty())
    fail_run(ErrorId::internal, "the head '{}' has weights, so that a loss of its outputs needs its code",
             chain_.stage_name(head));
  multiply_by_scale(context.exec, d_outputs, tensor_of(head, placement_.operations[loss_].input_gradient),
                    scale, factor);
}

void TrainingModel::run_backward(const StepContext& context, std::size_t operation, bool accumulate,
                                 bool wants_input_gradient) const {
  const Operation& now = schedule_[operation];
  const OperationPlaces& places = placement_.operations[operation];
  BlockGradients gradients{.weights = parameters_.gradients(now.block),
                           .accumulate = accumulate,
                           .output = tensor_of(now.block + 1, places.output_gradient),
                           .input = now.block == 0 ? Tensor() : tensor_of(now.block, places.input_gradient),
                           .skip = places.skip_gradient == nowhere
                                       ? Tensor()
                                       : tensor_of(skips_.source(now.block), places.skip_gradient),
                           .add_to_skip = !skips_.starts_gradient(now.block)};
  if (wants_input_gradient && now.block == 0) gradients.input = input_gradient(0);
  if (wants_input_gradient && skips_.source(now.block) == 0) {
    gradients.skip = input_gradient(1);
    gradients.add_to_skip = skips_.last_reader(0) != now.block;
  }
  chain_.blocks[now.block]->backward(context, memory_of(now, places), gradients);
  if (wants_input_gradient && now.block == 0 && skips_.last_reader(0) != no_skip)
    residual_forward(context.exec, gradients.input, input_gradient(1), gradients.input, {});
  if (places.carried_gradient != nowhere) {
    residual_forward(context.exec, gradients.input, tensor_of(now.block, places.carried_gradient),
                     gradients.input, {});
  }
}

void TrainingModel::backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                             const Observer* observer, bool wants_input_gradient) {
  if (wants_input_gradient && !chain_.input_gradients)
    fail_run(ErrorId::internal, "the gradient of the input was not planned");
  const Region region("backward");
  block_done(chain_.blocks.size());
  progress_.backward = 1;
  for (std::size_t i = loss_ + 1; i < schedule_.size(); ++i) {
    if (schedule_[i].kind == OperationKind::forward) {
      run_forward(context, i, true);
    } else {
      const std::size_t block = schedule_[i].block;
      run_backward(context, i, accumulate, wants_input_gradient);
      block_done(block);
      progress_.backward += 1;  // before an observer can throw: the block has exchanged its sums
      observe_parameters(observer, chain_, block, parameters_.gradients(block), " gradient");
      if (block > 0) {
        observe(observer, block - 1, "output gradient",
                tensor_of(block, placement_.operations[i].input_gradient));
      }
    }
  }
  progress_ = {};
}

void TrainingModel::join_rest_of_forward(const StepContext& context, const BeforeBlock& before_block) {
  for (; progress_.forward < chain_.blocks.size(); ++progress_.forward) {
    before_block(progress_.forward);
    chain_.blocks[progress_.forward]->join_collectives(context, buffers_.of(progress_.forward));
  }
}

void TrainingModel::join_backward(const StepContext& context, bool zeros, const BlockDone& block_done) {
  const std::size_t stages = chain_.blocks.size() + 1;
  const auto finish_stage = [&](std::size_t stage) {
    if (zeros) {
      for (const std::size_t slot : parameters_.layout().slots_of_block[stage])
        fill(context.exec, parameters_.gradient(parameters_.layout().slots[slot]), 0);
    }
    block_done(stage);
  };
  for (; progress_.backward < stages; ++progress_.backward) {
    const std::size_t stage = stages - 1 - progress_.backward;
    if (stage + 1 < stages) chain_.blocks[stage]->join_collectives(context, buffers_.of(stage));
    finish_stage(stage);
  }
  progress_ = {};
}

}  // namespace mylos

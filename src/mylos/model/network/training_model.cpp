#include "mylos/model/network/training_model.hpp"

#include <algorithm>

#include "mylos/base/device/region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/pointwise/gradient_scale.hpp"
#include "mylos/model/chain/chain_cost.hpp"
#include "mylos/model/network/fused_norms.hpp"

namespace mylos {
namespace {

bool exchanges(const Chain& chain) {
  return std::any_of(chain.blocks.begin(), chain.blocks.end(),
                     [](const auto& block) { return block->exchanges_in_passes(); });
}

}  // namespace

TrainingModel::TrainingModel(Chain chain, ParameterLayout layout, const Engines& engines,
                             std::int64_t samples, std::optional<Schedule> schedule, int rank,
                             const RolloutChain* rollout, const std::vector<Schedule>& shorter)
    : chain_(std::move(chain)),
      parameters_(std::move(layout), rank),
      buffers_(chain_),
      exchanges_in_passes_(exchanges(chain_)),
      samples_(samples) {
  const std::int64_t rows = samples * chain_.rows_per_sample;
  const ChainCost cost = chain_cost(chain_, engines, rows);
  if (rollout == nullptr) {
    programs_.emplace_back(chain_, cost, schedule ? std::move(*schedule) : store_all(chain_.blocks.size()));
  } else {
    add_programs(*rollout, engines, rows, std::move(schedule), shorter);
    rollout_.emplace(*rollout, chain_, samples);
    use_copies(rollout->options.steps);
  }
  std::size_t bytes = 0;
  for (const PlacedSchedule& each : programs_) bytes = std::max(bytes, each.placement.bytes);
  EvaluationLayout evaluation = make_evaluation_layout(cost, bytes);
  arena_ = Arena("activations", evaluation.bytes);
  for (PlacedSchedule& each : programs_) {
    each.fused =
        fused_norms(each.chain, engines, each.schedule, each.lifetimes, each.placement, arena_, rows);
  }
  input_gradients_ = Arena("input gradients", input_gradient_bytes(chain_, samples));
  for (std::size_t stage = 0; stage <= chain_.blocks.size(); ++stage) {
    weights_.push_back(parameters_.weights(stage));
    gradients_.push_back(parameters_.gradients(stage));
  }
  evaluation_.emplace(chain_, weights_, buffers_, samples, std::move(evaluation), arena_);
}

void TrainingModel::add_programs(const RolloutChain& rollout, const Engines& engines, std::int64_t rows,
                                 std::optional<Schedule> schedule, const std::vector<Schedule>& shorter) {
  const std::int64_t steps = rollout.options.steps;
  const bool is_one = !rollout.runs_alone() && !rollout.grows();
  for (std::int64_t n = is_one ? steps : 1; n <= steps; ++n) {
    Chain chain = rollout.runs_alone() ? rollout.alone(n - 1) : rollout.unrolled(n);
    Schedule own = store_all(chain.blocks.size());
    if (schedule && (n == steps || rollout.runs_alone())) own = *schedule;
    if (n < steps && !rollout.runs_alone() && !shorter.empty())
      own = shorter[static_cast<std::size_t>(n - 1)];
    const ChainCost cost = chain_cost(chain, engines, rows);
    programs_.emplace_back(std::move(chain), cost, std::move(own));
  }
}

void TrainingModel::use_copies(std::int64_t copies) {
  rollout_->use(copies);
  program_ = programs_.size() == 1 || rollout_->passes() > 1 ? 0 : static_cast<std::size_t>(copies - 1);
}

ConstTensor TrainingModel::begin_training(const StepContext& context, const ConstTensor& input,
                                          std::int64_t pass) {
  if (!rollout_) {
    evaluation_->require_planned(context, input);
    return input;
  }
  if (input.rows() > samples_ * chain_.rows_per_sample || input.columns() != rollout_->row_columns()) {
    fail_run(errors::internal, "rollout of [{}, {}] inputs: planned for at most {} rows of {}", input.rows(),
             input.columns(), samples_ * chain_.rows_per_sample, rollout_->row_columns());
  }
  if (rollout_->passes() > 1) program_ = static_cast<std::size_t>(pass);
  return rollout_->begin_pass(context, input, pass);
}

StepContext TrainingModel::context_of_blocks(const StepContext& context) const {
  StepContext own = context;
  if (rollout_ && trains_) own.rollout = &rollout_->step();
  return own;
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

void TrainingModel::forward(const StepContext& context, const ConstTensor& input, const Observer* observer,
                            const BeforeBlock* before_block, std::int64_t pass) {
  input_ = input;
  trains_ = context.training;
  if (!trains_) {
    evaluation_->forward(context, input, observer);
    output_ = evaluation_->output();
    return;
  }
  const Region region("forward");
  input_ = begin_training(context, input, pass);
  const StepContext of_blocks = context_of_blocks(context);
  const auto& [chain, skips, schedule, lifetimes, placement, fused, loss] = program();
  const SchedulePass run = this->pass();
  if (context.cache != nullptr) fail_run(errors::internal, "a key-value cache is for evaluation");
  if (schedule.empty()) fail_run(errors::internal, "this model was made for evaluation only");
  observe(observer, 0, "input", input_);
  progress_ = {};
  for (std::size_t i = 0; i < loss; ++i) {
    const std::size_t block = schedule[i].block;
    const bool is_recompute = block < progress_.forward;
    const Observer* first_time = is_recompute ? nullptr : observer;
    const std::size_t end_of_weights = block + (fused[i] ? 2 : 1);
    for (std::size_t reads = block; before_block != nullptr && reads < end_of_weights; ++reads) {
      if (reads < chain_.blocks.size()) (*before_block)(reads);
    }
    observe_parameters(first_time, chain_, stage_of(block), parameters_.weights(stage_of(block)), "");
    run.forward(of_blocks, i, is_recompute);
    progress_.forward = std::max(progress_.forward, block + 1);
    observe(first_time, stage_of(block), "output", run.tensor_of(block + 1, placement.operations[i].output));
  }
  output_ = run.output();
  if (rollout_) rollout_->end_pass(context, input_, output_, pass);
}

LossMemory TrainingModel::loss_memory() const {
  if (!trains_) return evaluation_->head_memory();
  const PlacedSchedule& now = program();
  return {parameters_.weights(chain_.blocks.size()), output_,
          pass().at(now.placement.operations[now.loss].workspace), buffers_.constants()};
}

/// Returns the head of what has run forward last.
const LossHead& TrainingModel::head() const {
  return trains_ ? *program().chain.head : *chain_.head;
}

ConstTensor TrainingModel::head_outputs(const StepContext& context, std::int64_t first, std::int64_t count) {
  LossMemory memory = loss_memory();
  memory.input = output_.row_range(first, count);
  return head().outputs_of(context, memory);
}

void TrainingModel::loss(const StepContext& context, const Truth& truth, LossSums* sums) {
  const Region region("loss");
  head().evaluate(context_of_blocks(context), loss_memory(), truth, sums);
}

void TrainingModel::loss_and_seed(const StepContext& context, const Truth& truth, const LossSeed& seed,
                                  LossSums* sums, const Observer* observer) {
  const Region region("loss");
  if (!trains_) fail_run(errors::internal, "backward() needs a preceding forward pass in training mode");
  if (rollout_) rollout_->set_loss(truth, seed.scale, seed.inverse_count, sums, buffers_.constants());
  const std::size_t last = chain_.blocks.size();
  const Tensor gradient = pass().output_gradient();
  const LossGradients gradients{.weights = parameters_.gradients(last),
                                .accumulate = seed.accumulate,
                                .input = gradient,
                                .scale = seed.scale,
                                .inverse_count = seed.inverse_count};
  observe_parameters(observer, chain_, last, parameters_.weights(last), "");
  head().evaluate_and_seed(context_of_blocks(context), loss_memory(), truth, gradients, sums);
  observe_parameters(observer, chain_, last, parameters_.gradients(last), " gradient");
  observe(observer, last - 1, "output gradient", gradient);
}

void TrainingModel::seed(const StepContext& context, const ConstTensor& d_outputs, const float* scale,
                         float factor) {
  const std::size_t last = chain_.blocks.size();
  if (!trains_ || rollout_)
    fail_run(errors::internal, "backward() needs a preceding forward pass in training mode");
  if (!parameters_.gradients(last).empty())
    fail_run(errors::internal, "the head '{}' has weights, so that a loss of its outputs needs its code",
             chain_.stage_name(last));
  multiply_by_scale(context.exec, d_outputs, pass().output_gradient(), scale, factor);
}

void TrainingModel::backward(const StepContext& context, bool accumulate, const BlockDone& block_done,
                             const Observer* observer, bool wants_input_gradient) {
  if (wants_input_gradient && !chain_.input_gradients)
    fail_run(errors::internal, "the gradient of the input was not planned");
  if (!context.training) fail_run(errors::internal, "a backward pass of training in evaluation");
  const Region region("backward");
  const StepContext of_blocks = context_of_blocks(context);
  const PlacedSchedule& now = program();
  const SchedulePass run = pass();
  block_done(chain_.blocks.size());
  progress_.backward = 1;
  for (std::size_t i = now.loss + 1; i < now.schedule.size(); ++i) {
    const std::size_t block = now.schedule[i].block;
    if (now.schedule[i].kind == OperationKind::forward) {
      run.forward(of_blocks, i, true);
      continue;
    }
    run.backward(of_blocks, i, {.accumulate = accumulate, .input = wants_input_gradient});
    if (block < chain_.blocks.size()) block_done(block);
    progress_.backward += 1;  // before an observer can throw: the block has exchanged its sums
    const std::size_t stage = stage_of(block);
    observe_parameters(observer, chain_, stage, parameters_.gradients(stage), " gradient");
    if (block > 0) {
      observe(observer, stage_of(block - 1), "output gradient",
              run.tensor_of(block, now.placement.operations[i].input_gradient));
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

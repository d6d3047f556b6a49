#include "mylos/model/rollout/feedback_block.hpp"

#include <algorithm>

#include "mylos/base/device/region.hpp"

namespace mylos {

bool reads_previous(const FeedbackMap& map) {
  return std::any_of(map.inputs.begin(), map.inputs.end(),
                     [](const FeedbackChannel& channel) { return channel.previous >= 0; });
}

FeedbackShape shape_of(const FeedbackMap& map) {
  return {map.points, map.input_channels(), map.output_channels, map.row_channels};
}

FeedbackBlock::FeedbackBlock(const FeedbackOptions& options, CopyLoss loss)
    : copy_(options.copy),
      shape_(shape_of(options.map)),
      loss_(std::move(loss)),
      signature_{.name = "feedback",
                 .kind = "feedback",
                 .inputs = shape_.points * shape_.outputs,
                 .outputs = shape_.points * shape_.inputs,
                 .input_type = options.output_type,
                 .output_type = options.input_type,
                 .compute_type = DType::fp32,
                 .skip_inputs = reads_previous(options.map) ? shape_.points * shape_.inputs : 0,
                 .skip_type = options.input_type} {}

BlockCost FeedbackBlock::cost(const Engines& engines, std::int64_t rows) const {
  BlockCost cost = elementwise_cost(signature_, rows);
  const LossCost loss = loss_.cost(engines, rows);
  cost.variants.front().backward_workspace = loss.workspace;
  cost.backward_flops += loss.flops;
  return cost;
}

void FeedbackBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("feedback forward");
  next_input(context.exec, shape_, context.rollout->tables, copy_, memory.skip, memory.input,
             context.rollout->rows, memory.output);
}

void FeedbackBlock::backward(const StepContext& context, const BlockMemory& memory,
                             const BlockGradients& gradients) const {
  const Region region("feedback backward");
  const RolloutStep& step = *context.rollout;
  const bool has_loss = loss_.weight(context) != 0;
  if (has_loss) {
    loss_.evaluate_and_seed(
        context,
        {.weights = {}, .input = memory.input, .workspace = memory.workspace, .constants = step.constants},
        step.truth,
        {.weights = {}, .input = gradients.input, .scale = step.scale, .inverse_count = step.inverse_count},
        step.sums);
  }
  add_output_gradient(context.exec, shape_, step.tables, gradients.output, gradients.input, has_loss);
  if (!gradients.skip.empty())
    add_previous_gradient(context.exec, shape_, step.tables, gradients.output, gradients.skip,
                          gradients.add_to_skip);
}

}  // namespace mylos

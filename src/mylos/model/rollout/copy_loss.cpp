#include "mylos/model/rollout/copy_loss.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"

namespace mylos {

CopyLoss::CopyLoss(std::shared_ptr<const LossHead> head, const FeedbackMap& map, std::int64_t copy)
    : head_(std::move(head)),
      points_(map.points),
      channels_(map.output_channels),
      steps_(map.steps),
      copy_(copy) {}

std::size_t CopyLoss::target_bytes(std::int64_t rows) const {
  if (steps_ == 1) return 0;
  return aligned_bytes(static_cast<std::size_t>(rows * points_ * channels_) * sizeof(float));
}

LossCost CopyLoss::cost(const Engines& engines, std::int64_t rows) const {
  LossCost cost = head_->cost(engines, rows);
  cost.workspace += target_bytes(rows);
  return cost;
}

float CopyLoss::weight(const StepContext& context) const {
  return context.rollout->weights[static_cast<std::size_t>(copy_)];
}

void CopyLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                 const LossGradients& gradients, LossSums* sums) const {
  const std::int64_t rows = memory.input.rows();
  Truth own = truth;
  LossMemory rest = memory;
  if (steps_ > 1) {
    auto* const targets = reinterpret_cast<float*>(memory.workspace);
    take_channels(context.exec, points_, steps_ * channels_, copy_ * channels_, channels_, rows,
                  truth.targets, targets);
    own.targets = targets;
    rest.workspace += target_bytes(rows);
  }
  LossGradients weighted = gradients;
  weighted.weight = weight(context);
  head_->evaluate_and_seed(context, rest, own, weighted, sums);
}

}  // namespace mylos

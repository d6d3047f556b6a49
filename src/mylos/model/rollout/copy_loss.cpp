#include "mylos/model/rollout/copy_loss.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/model/block/loss_sums.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"

namespace mylos {

CopyLoss::CopyLoss(std::shared_ptr<const LossHead> head, const FeedbackMap& map, std::int64_t copy)
    : head_(std::move(head)),
      points_(map.points),
      channels_(map.output_channels),
      steps_(map.steps),
      copy_(copy) {}

CopyLoss::Memory::Memory(const CopyLoss& loss, std::int64_t rows, std::byte* workspace)
    : pieces(workspace), sums(pieces.take<LossSums>(1)) {
  if (loss.steps_ > 1) targets = pieces.take<float>(rows * loss.points_ * loss.channels_);
  rest = pieces.take_bytes(0);
}

LossCost CopyLoss::cost(const Engines& engines, std::int64_t rows) const {
  LossCost cost = head_->cost(engines, rows);
  cost.workspace += Memory(*this, rows, nullptr).pieces.bytes();
  return cost;
}

float CopyLoss::weight(const StepContext& context) const {
  return context.rollout->weights[static_cast<std::size_t>(copy_)];
}

void CopyLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                 const LossGradients& gradients, LossSums* sums) const {
  const std::int64_t rows = memory.input.rows();
  const Memory own(*this, rows, memory.workspace);
  Truth of_step = truth;
  if (own.targets != nullptr) {
    take_channels(context.exec, points_, steps_ * channels_, copy_ * channels_, channels_, rows,
                  truth.targets, own.targets);
    of_step.targets = own.targets;
  }
  LossMemory rest = memory;
  rest.workspace = own.rest;
  LossGradients weighted = gradients;
  weighted.inverse_count *= weight(context);
  clear_sums(context.exec, own.sums);
  head_->evaluate_and_seed(context, rest, of_step, weighted, own.sums);
  add_weighted(context.exec, own.sums, weight(context), sums);
}

}  // namespace mylos

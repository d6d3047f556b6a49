// CopyLoss: the loss of one copy of a chain, that of an output and the targets of its step.
// RolloutHead: the head of a chain of copies, which computes the loss of the last one.
#pragma once

#include <memory>

#include "mylos/base/pieces.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/rollout.hpp"

namespace mylos {

/// A row of targets has those of every step; the kernels of losses read those of one step, which are copied
/// to the workspace if there are several. Sums are weighted there too.
class CopyLoss {
 public:
  /// `head`: of the network, without weights. `copy`: from 0.
  CopyLoss(std::shared_ptr<const LossHead> head, const FeedbackMap& map, std::int64_t copy);

  [[nodiscard]] const LossHead& head() const { return *head_; }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const;
  /// As LossHead::evaluate_and_seed(), with the weight of context.rollout.
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const;
  /// Returns the weight of this copy's loss in the current step.
  [[nodiscard]] float weight(const StepContext& context) const;

 private:
  /// A view of the workspace.
  struct Memory {
    Memory(const CopyLoss& loss, std::int64_t rows, std::byte* workspace);

    Pieces pieces;
    LossSums* sums;            // before the weight
    float* targets = nullptr;  // of one step; null if the rows hold no other
    std::byte* rest;           // of the head
  };

  std::shared_ptr<const LossHead> head_;
  std::int64_t points_;
  std::int64_t channels_;
  std::int64_t steps_;
  std::int64_t copy_;
};

class RolloutHead final : public LossHead {
 public:
  explicit RolloutHead(CopyLoss loss) : loss_(std::move(loss)) {}

  [[nodiscard]] const Signature& signature() const override { return loss_.head().signature(); }
  [[nodiscard]] const LossTraits& loss() const override { return loss_.head().loss(); }
  [[nodiscard]] std::span<const float> constants() const override { return loss_.head().constants(); }
  [[nodiscard]] std::optional<OutputField> field() const override { return loss_.head().field(); }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const override {
    return loss_.cost(engines, rows);
  }
  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override {
    loss_.evaluate_and_seed(context, memory, truth, {}, sums);
  }
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override {
    loss_.evaluate_and_seed(context, memory, truth, gradients, sums);
  }
  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override {
    return loss_.head().outputs_of(context, memory);
  }

 private:
  CopyLoss loss_;
};

}  // namespace mylos

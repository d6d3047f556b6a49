// OutputLoss: cross-entropy or mean squared error of the last block's output. No parameters.
#pragma once

#include "mylos/model/loss_head.hpp"

namespace mylos {

class OutputLoss final : public LossHead {
 public:
  /// `type`: of the output that it reads.
  OutputLoss(LossType loss, std::int64_t outputs, DType type)
      : loss_(loss),
        signature_{.name = "loss",
                   .kind = "loss",
                   .inputs = outputs,
                   .outputs = outputs,
                   .input_type = type,
                   .output_type = type,
                   .compute_type = type} {}

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] LossType loss() const override { return loss_; }
  [[nodiscard]] LossCost cost(const GemmEngine& gemm, std::int64_t rows) const override;

  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] Tensor outputs_of(const StepContext& context, const LossMemory& memory) const override;

 private:
  LossType loss_;
  Signature signature_;
};

}  // namespace mylos

// OutputLoss: cross-entropy or mean squared error of the last block's output. No parameters.
#pragma once

#include "mylos/model/loss_head.hpp"

namespace mylos {

class OutputLoss final : public LossHead {
 public:
  /// `type`: of the output that it reads.
  OutputLoss(LossType loss, std::int64_t outputs, DType type) : loss_(loss), outputs_(outputs), type_(type) {}

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::string_view kind() const override { return name_; }
  [[nodiscard]] LossType loss() const override { return loss_; }
  [[nodiscard]] std::int64_t inputs() const override { return outputs_; }
  [[nodiscard]] std::int64_t outputs() const override { return outputs_; }
  [[nodiscard]] DType input_type() const override { return type_; }
  [[nodiscard]] DType output_type() const override { return type_; }
  [[nodiscard]] LossCost cost(const GemmEngine& gemm, std::int64_t rows) const override;

  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] Tensor outputs_of(const StepContext& context, const LossMemory& memory) const override;

 private:
  std::string name_ = "loss";
  LossType loss_;
  std::int64_t outputs_;
  DType type_;
};

}  // namespace mylos

// OutputLoss: a loss of the last block's output. It has no parameters. Each loss lies in a folder of its own
// beside this file, derives from OutputLoss or FieldLoss, and states its options in
// include/mylos/model/losses.
//
// Each loss is a mean over samples, not divided by the sum of class weights: that sum would differ from one
// micro-batch to the next, and the loss would depend on how a batch is split.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/pointwise/fields/field_loss.hpp"
#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/layers/residual/residual_output.hpp"

namespace mylos {

/// What a loss is made for: the numbers of a sample that it reads, their type, and their shape if they lie on
/// a grid.
struct LossInput {
  std::int64_t numbers = 0;
  DType type = DType::fp32;
  SampleShape shape = {};
};

class OutputLoss : public LossHead {
 public:
  [[nodiscard]] const Signature& signature() const final { return signature_; }
  [[nodiscard]] const LossTraits& loss() const final { return loss_; }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const final;
  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const final;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const final;
  [[nodiscard]] ConstTensor outputs_of(const StepContext& /*context*/,
                                       const LossMemory& memory) const override {
    return memory.input;
  }

 protected:
  /// What one evaluation reads and writes.
  struct Call {
    const Execution& exec;
    const LossArrays& arrays;  // targets: of losses of numbers and probabilities
    const Truth& truth;
    std::int32_t* row_correct;  // [rows], of classes
    const float* constants;     // the values of constants(), in device memory
    std::byte* workspace;       // of workspace_bytes()
  };

  /// Keeps a reference to the traits of the kind.
  OutputLoss(const LossTraits& loss, const LossInput& input, std::int64_t numbers_per_output = 1);

  /// Computes the loss of each row, and the gradients if there is memory for them.
  virtual void compute(const Call& call) const = 0;
  /// Returns the bytes that compute(), outputs_of() and deviations_of() need.
  [[nodiscard]] virtual std::size_t workspace_bytes(std::int64_t /*rows*/) const { return 0; }
  [[nodiscard]] virtual double flops_of_output() const { return 8; }

  /// Returns the memory of workspace_bytes() in an evaluation's workspace.
  [[nodiscard]] static std::byte* own_workspace(const LossMemory& memory);

 private:
  const LossTraits& loss_;
  Signature signature_;
};

}  // namespace mylos

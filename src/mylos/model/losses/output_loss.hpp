// OutputLoss: the loss of the last block's output. It has no parameters.
//
// Each loss is a mean over samples, not divided by the sum of class weights: that sum would differ from one
// micro-batch to the next, and the loss would depend on how a batch is split.
//
// Outputs on a grid may have weights of points, norms by channel and derivatives (field_norm.hpp).
//
// The loss "gaussian" reads twice as many numbers as it has outputs: means and log variances
// (gaussian_loss.hpp). Its outputs are the means.
#pragma once

#include <vector>

#include "mylos/model/block/loss_head.hpp"
#include "mylos/model/layers/residual/residual_output.hpp"
#include "mylos/model/losses/field_norm.hpp"

namespace mylos {

class OutputLoss final : public LossHead {
 public:
  /// `inputs`: the numbers that it reads, of this type and the shape `input`. Throws Error (bad_input) unless
  /// class_weights has one entry per output, under the conditions of FieldNorm, and if the loss is one of
  /// fields but the outputs do not lie on a grid.
  OutputLoss(const ModelOptions& model, std::int64_t inputs, DType type, const SampleShape& input = {});
  OutputLoss(LossType loss, std::int64_t inputs, DType type)
      : loss_(loss),
        signature_{.name = "loss",
                   .kind = "loss",
                   .inputs = inputs,
                   .outputs = inputs / outputs_per_target(loss),
                   .input_type = type,
                   .output_type = type,
                   .compute_type = type} {}

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] LossType loss() const override { return loss_; }
  [[nodiscard]] std::span<const float> constants() const override {
    return norm_ ? norm_->constants() : std::span<const float>(class_weights_);
  }
  [[nodiscard]] std::optional<OutputField> field() const override { return field_; }
  [[nodiscard]] LossCost cost(const Engines& engines, std::int64_t rows) const override;

  void evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                LossSums* sums) const override;
  void evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                         const LossGradients& gradients, LossSums* sums) const override;
  [[nodiscard]] ConstTensor outputs_of(const StepContext& context, const LossMemory& memory) const override;
  [[nodiscard]] ConstTensor deviations_of(const StepContext& context,
                                          const LossMemory& memory) const override;

 private:
  struct Workspace;

  void set_field(const ModelOptions& model, const SampleShape& output);
  [[nodiscard]] FieldPoints points(const float* constants) const;
  void evaluate_field(const Execution& exec, const FieldNorm& norm, const float* constants,
                      const LossArrays& arrays, float* workspace) const;

  LossType loss_;
  float huber_delta_ = 1;
  float label_smoothing_ = 0;
  std::vector<float> class_weights_;
  std::optional<OutputField> field_;
  std::optional<FieldNorm> norm_;  // if the loss has weights of points, norms by channel or derivatives
  Signature signature_;
};

}  // namespace mylos

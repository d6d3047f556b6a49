#include "mylos/model/layers/output_loss.hpp"

#include "mylos/kernels/launch/reduce.hpp"
#include "mylos/kernels/pointwise/loss.hpp"
#include "mylos/model/block/row_sums.hpp"

namespace mylos {

OutputLoss::OutputLoss(const ModelOptions& model, std::int64_t outputs, DType type)
    : OutputLoss(model.loss, outputs, type) {
  huber_delta_ = static_cast<float>(model.huber_delta);
  label_smoothing_ = static_cast<float>(model.label_smoothing);
  class_weights_.assign(model.class_weights.begin(), model.class_weights.end());
  if (!class_weights_.empty() && static_cast<std::int64_t>(class_weights_.size()) != outputs) {
    fail_input(ErrorId::bad_value, "model.class_weights has {} weights, but there are {} classes",
               class_weights_.size(), outputs);
  }
}

LossCost OutputLoss::cost(const Engines&, std::int64_t rows) const {
  Pieces pieces(nullptr);
  const RowSums sums(pieces, rows);
  return {pieces.bytes(), 8.0 * static_cast<double>(rows) * static_cast<double>(signature_.outputs)};
}

void OutputLoss::evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                          LossSums* sums) const {
  evaluate_and_seed(context, memory, truth, {}, sums);
}

void OutputLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                   const LossGradients& gradients, LossSums* sums) const {
  Pieces pieces(memory.workspace);
  const RowSums rows(pieces, memory.input.rows());
  const auto of_targets = [&](const auto& loss, auto... more) {
    loss(context.exec, memory.input, truth.targets, gradients.input, gradients.scale, gradients.inverse_count,
         rows.loss, more...);
  };
  switch (loss_) {
    case LossType::cross_entropy:
      softmax_cross_entropy(context.exec, memory.input, truth.labels, gradients.input, gradients.scale,
                            gradients.inverse_count, rows.loss, rows.correct, truth.classes,
                            {.smoothing = label_smoothing_, .class_weights = memory.constants});
      break;
    case LossType::mse:
      of_targets(mean_squared_error);
      break;
    case LossType::l1:
      of_targets(mean_absolute_error);
      break;
    case LossType::huber:
      of_targets(mean_huber_loss, huber_delta_);
      break;
    case LossType::relative_l2:
      of_targets(relative_l2_error);
      break;
    case LossType::binary_cross_entropy:
      of_targets(mean_binary_cross_entropy);
      break;
  }
  rows.add_to(context.exec, loss_, sums);
}

ConstTensor OutputLoss::outputs_of(const StepContext&, const LossMemory& memory) const {
  return memory.input;
}

}  // namespace mylos

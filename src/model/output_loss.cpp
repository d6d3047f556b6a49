#include "mylos/model/output_loss.hpp"

#include "mylos/kernels/loss.hpp"
#include "mylos/kernels/reduce.hpp"
#include "row_sums.hpp"

namespace mylos {

LossCost OutputLoss::cost(const GemmEngine&, std::int64_t rows) const {
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
  if (loss_ == LossType::cross_entropy) {
    softmax_cross_entropy(context.exec, memory.input, truth.labels, gradients.input, gradients.scale,
                          gradients.inverse_count, rows.loss, rows.correct, truth.classes);
  } else {
    mean_squared_error(context.exec, memory.input, truth.targets, gradients.input, gradients.scale,
                       gradients.inverse_count, rows.loss);
  }
  rows.add_to(context.exec, loss_, sums);
}

Tensor OutputLoss::outputs_of(const StepContext&, const LossMemory& memory) const {
  return memory.input;
}

}  // namespace mylos

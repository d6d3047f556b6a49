#include "mylos/model/losses/output_loss.hpp"

#include "mylos/model/block/row_sums.hpp"

namespace mylos {

OutputLoss::OutputLoss(const LossTraits& loss, const LossInput& input, std::int64_t numbers_per_output)
    : loss_(loss),
      signature_{.name = "loss",
                 .kind = "loss",
                 .inputs = input.numbers,
                 .outputs = input.numbers / numbers_per_output,
                 .input_type = input.type,
                 .output_type = input.type,
                 .compute_type = input.type} {}

LossCost OutputLoss::cost(const Engines&, std::int64_t rows) const {
  Pieces pieces(nullptr);
  const RowSums sums(pieces, rows);
  pieces.take_bytes(workspace_bytes(rows));
  return {pieces.bytes(),
          flops_of_output() * static_cast<double>(rows) * static_cast<double>(signature_.outputs)};
}

std::byte* OutputLoss::own_workspace(const LossMemory& memory) {
  Pieces pieces(memory.workspace);
  const RowSums sums(pieces, memory.input.rows());
  return pieces.take_bytes(0);
}

void OutputLoss::evaluate(const StepContext& context, const LossMemory& memory, const Truth& truth,
                          LossSums* sums) const {
  evaluate_and_seed(context, memory, truth, {}, sums);
}

void OutputLoss::evaluate_and_seed(const StepContext& context, const LossMemory& memory, const Truth& truth,
                                   const LossGradients& gradients, LossSums* sums) const {
  Pieces pieces(memory.workspace);
  const RowSums rows(pieces, memory.input.rows());
  const LossArrays arrays{memory.input,    truth.targets,           gradients.input,
                          gradients.scale, gradients.inverse_count, rows.loss};
  compute({.exec = context.exec,
           .arrays = arrays,
           .truth = truth,
           .row_correct = rows.correct,
           .constants = memory.constants,
           .workspace = pieces.take_bytes(0)});
  rows.add_to(context.exec, prediction(), sums);
}

}  // namespace mylos

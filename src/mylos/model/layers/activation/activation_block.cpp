#include "mylos/model/layers/activation/activation_block.hpp"

#include "mylos/base/device/region.hpp"
#include "mylos/kernels/grid/by_points.hpp"
#include "mylos/kernels/pointwise/activation.hpp"
#include "mylos/model/block/token_dropout.hpp"

namespace mylos {

ActivationBlock::ActivationBlock(ActivationOptions options)
    : options_(std::move(options)),
      signature_{.name = options_.name,
                 .kind = "activation",
                 .inputs = options_.width,
                 .outputs = options_.width,
                 .input_type = options_.type,
                 .output_type = options_.type,
                 .compute_type = options_.type},
      dropout_stream_(options_.seed, RandomPurpose::dropout, options_.name) {}

BlockCost ActivationBlock::cost(const Engines&, std::int64_t rows) const {
  return elementwise_cost(signature_, rows);
}

Dropout ActivationBlock::dropout(const StepContext& context) const {
  Dropout dropout = token_dropout(context, dropout_stream_, options_.dropout, 1);
  if (dropout.active()) dropout.box = options_.box;
  dropout.columns_are_points = true;
  return dropout;
}

template <class Tensor>
Tensor ActivationBlock::rows_of(const Tensor& matrix) const {
  return options_.box ? by_points(matrix, options_.box->points()) : matrix;
}

void ActivationBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("activation forward");
  activation_forward(context.exec, options_.activation, rows_of(memory.input), rows_of(memory.output),
                     dropout(context));
}

void ActivationBlock::backward(const StepContext& context, const BlockMemory& memory,
                               const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("activation backward");
  const bool reads_output = keeps_output(options_.activation, options_.dropout > 0);
  activation_backward(context.exec, options_.activation, rows_of(reads_output ? memory.output : memory.input),
                      rows_of(gradients.output), rows_of(gradients.input), {}, gradients.accumulate,
                      dropout(context));
}

}  // namespace mylos

#include "mylos/model/layers/activation/activation_block.hpp"

#include "mylos/base/device/region.hpp"
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

void ActivationBlock::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("activation forward");
  activation_forward(context.exec, options_.activation, memory.input, memory.output,
                     token_dropout(context, dropout_stream_, options_.dropout, 1));
}

void ActivationBlock::backward(const StepContext& context, const BlockMemory& memory,
                               const BlockGradients& gradients) const {
  if (gradients.input.empty()) return;
  const Region region("activation backward");
  const bool reads_output = keeps_output(options_.activation, options_.dropout > 0);
  activation_backward(context.exec, options_.activation, reads_output ? memory.output : memory.input,
                      gradients.output, gradients.input, {}, gradients.accumulate,
                      token_dropout(context, dropout_stream_, options_.dropout, 1));
}

}  // namespace mylos

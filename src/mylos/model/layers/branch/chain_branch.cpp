#include "mylos/model/layers/branch/chain_branch.hpp"

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/region.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/pointwise/residual.hpp"

namespace mylos {

ChainBranch::ChainBranch(ChainBranchOptions options)
    : signature_{.name = options.name,
                 .kind = "branch",
                 .inputs = options.inputs,
                 .outputs = options.skip_inputs,
                 .input_type = options.input_type,
                 .output_type = options.skip_type,
                 .compute_type = options.skip_type,
                 .skip_inputs = options.skip_inputs,
                 .skip_type = options.skip_type} {}

BlockCost ChainBranch::cost(const Engines&, std::int64_t rows) const {
  return elementwise_cost(signature_, rows);
}

void ChainBranch::forward(const StepContext& context, const BlockMemory& memory) const {
  const Region region("branch forward");
  convert(context.exec, memory.skip, memory.output);
}

void ChainBranch::backward(const StepContext& context, const BlockMemory& /*memory*/,
                           const BlockGradients& gradients) const {
  const Region region("branch backward");
  if (!gradients.input.empty()) fill(context.exec, gradients.input, 0);
  if (gradients.skip.empty()) return;
  if (gradients.add_to_skip) {
    residual_forward(context.exec, gradients.output, gradients.skip, gradients.skip, {});
  } else {
    convert(context.exec, gradients.output, gradients.skip);
  }
}

}  // namespace mylos

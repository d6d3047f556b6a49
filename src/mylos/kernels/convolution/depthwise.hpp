// Depthwise convolutions, of which each channel sees itself alone: without products, for those would be of
// vectors. Channels are side by side in memory, and so they are here in registers.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/gathered_product.hpp"

namespace mylos::depthwise {

[[nodiscard]] inline bool serves(const Gather& gather, std::int64_t group_outputs) {
  return gather.group_channels() == 1 && group_outputs == 1;
}

/// Floats of workspace for run().
[[nodiscard]] std::int64_t weight_floats(const Gather& gather);

/// run_gathered_product() of such a product. weights: weight_floats().
void run(const Execution& exec, const GatheredProduct& product, const GatheredOperands& operands,
         std::int64_t samples, float* weights);

/// Floats of workspace for sum_weights(), no more than convolution_gathered_bytes or one for each weight.
[[nodiscard]] std::int64_t sum_floats(const Gather& gather, std::int64_t samples);

/// d_weights[channel][tap] (+)= sum over the targets of d_to and what tap sees of `from`.
void sum_weights(const Execution& exec, const Gather& gather, const Tensor& from, const Tensor& d_to,
                 const Tensor& d_weights, bool accumulate, float* sums);

}  // namespace mylos::depthwise

// Depthwise convolutions, in which each channel sees only itself. They use no GEMMs, which would multiply
// vectors. Channels are contiguous in memory and in registers.
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/gathered_gemm.hpp"

namespace mylos::depthwise {

[[nodiscard]] inline bool supports(const Gather& gather, std::int64_t group_outputs) {
  return gather.group_channels() == 1 && group_outputs == 1;
}

/// Returns the floats of workspace for run().
[[nodiscard]] std::int64_t weight_floats(const Gather& gather);

/// Computes what run_gathered_gemm() computes, for a depthwise convolution. weights: weight_floats()
/// floats.
void run(const Execution& exec, const GatheredGemm& gemm, const GatheredOperands& operands,
         std::int64_t samples, float* weights);

/// Returns the floats of workspace for sum_weights(): at most convolution_gathered_bytes, or one for each
/// weight.
[[nodiscard]] std::int64_t sum_floats(const Gather& gather, std::int64_t samples);

/// Computes d_weights[channel][tap] (+)= sum over the targets of d_to and what the tap sees of `from`.
void sum_weights(const Execution& exec, const Gather& gather, const ConstTensor& from,
                 const ConstTensor& d_to, const Tensor& d_weights, bool accumulate, float* sums);

}  // namespace mylos::depthwise

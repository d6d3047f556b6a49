// The three passes of a ConvolutionMap by GEMMs. See convolution.hpp for what they compute.
#pragma once

#include "mylos/kernels/convolution/convolution_map.hpp"
#include "mylos/kernels/convolution/gathered_gemm.hpp"

namespace mylos::convolution_by_gemm {

/// Computes to = map(from) + bias.
void apply(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, DType type,
           const GatheredOperands& operands, std::int64_t samples, void* workspace);

/// Computes from = adjoint of the map applied to `to`, + bias. `operands.from` is on the grid map.to.
void apply_adjoint(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map, DType type,
                   const GatheredOperands& operands, std::int64_t samples, void* workspace);

/// Computes d_weights (+)= sum over to's points of d_to and what they see of `from`.
void sum_weights(const Execution& exec, GemmEngine& engine, const ConvolutionMap& map,
                 const ConstTensor& from, const ConstTensor& d_to, const Tensor& d_weights, bool accumulate,
                 void* workspace);

[[nodiscard]] std::size_t apply_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                                          std::int64_t samples);
[[nodiscard]] std::size_t adjoint_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                                            std::int64_t samples);
[[nodiscard]] std::size_t sum_workspace(const GemmEngine& engine, const ConvolutionMap& map, DType type,
                                        std::int64_t samples);

}  // namespace mylos::convolution_by_gemm

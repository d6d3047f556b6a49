// Linear: y = x·Wᵀ + b inside a block, with its parameters and the GEMMs of forward and backward.
//
//   dW = dyᵀ·x,   db = the sum of dy's rows,   dx = dy·W
//
// If the engine sums rows, it computes db together with dW; otherwise the kernel that writes dy computes db
// (bias_gradient()).
#pragma once

#include <initializer_list>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/block/block_product.hpp"
#include "mylos/model/block/residual_branch.hpp"

namespace mylos {

struct Linear {
  std::string name = {};  // "qkv", the group of its parameters; empty if the block has only this one
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
  bool relu = false;  // y = relu(x·Wᵀ + b)
  bool needs_input_gradient = true;
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;

  /// Returns the GEMMs of one micro-batch, for Block::products().
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const;

  /// Return the workspace bytes of the functions below; backward covers all gradients.
  [[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, std::int64_t rows) const;
  [[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, std::int64_t rows) const;

  /// Reads the weights also from "packed", what GemmEngine::pack() wrote of them, where the caller has that.
  void forward(const StepContext& context, const ParameterTensors& weights, const ConstTensor& x,
               const Tensor& y, std::byte* workspace) const;
  /// Writes dW, and db if the engine computes it; adds to the present values if `accumulate`.
  void weight_gradient(const StepContext& context, const ParameterTensors& gradients, bool accumulate,
                       const Tensor& dy, const ConstTensor& x, std::byte* workspace) const;
  /// Writes dx, or adds dy·W to it.
  void input_gradient(const StepContext& context, const ParameterTensors& weights, const Tensor& dy,
                      const Tensor& dx, std::byte* workspace, bool add = false) const;
  /// Returns whether the engine can give the gradient by z instead, where x = gelu_tanh(z).
  [[nodiscard]] bool passes_gelu(const GemmEngine& gemm, std::int64_t rows) const;
  void gelu_input_gradient(const StepContext& context, const ParameterTensors& weights, const Tensor& dy,
                           const Tensor& z, const Tensor& dz, std::byte* workspace) const;
  /// Returns the db that the kernel that writes dy must compute; empty if weight_gradient() computes db or if
  /// there is no bias.
  [[nodiscard]] Tensor bias_gradient(const GemmEngine& gemm, const ParameterTensors& gradients,
                                     std::int64_t rows) const;

 private:
  [[nodiscard]] GemmProblem output_product(std::int64_t rows) const;
  [[nodiscard]] GemmProblem weight_product(const GemmEngine& gemm, std::int64_t rows, bool accumulate) const;
  [[nodiscard]] GemmProblem input_product(std::int64_t rows, bool add) const;
};

struct LinearShape {
  std::string name;
  std::int64_t inputs;
  std::int64_t outputs;
};

/// Returns the linear maps of a residual branch in the order of their parameters, which follow the norm's.
[[nodiscard]] std::vector<Linear> linears_of(const BranchOptions& branch,
                                             const std::vector<LinearShape>& shapes);

/// Appends "<name>_weight" [outputs, inputs] and, if present, "<name>_bias" [1, outputs].
void add_linear(std::vector<ParameterSpec>& specs, const Linear& linear, float initial_std);

[[nodiscard]] std::vector<BlockProduct> products_of(std::initializer_list<Linear> linears, std::int64_t rows);

}  // namespace mylos

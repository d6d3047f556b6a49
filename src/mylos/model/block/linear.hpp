// Linear: y = x·Wᵀ + b inside a block, with its parameters and the products of both directions.
//
//   dW = dyᵀ·x,   db = the sum of dy's rows,   dx = dy·W
//
// db comes with dW where the engine sums rows; else the kernel that writes dy sums it (bias_gradient()).
#pragma once

#include <initializer_list>

#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/model/block/residual_branch.hpp"

namespace mylos {

struct Linear {
  std::string name = {};  // "qkv", the group of its parameters; empty where the block has no other
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool bias = true;
  bool relu = false;  // y = relu(x·Wᵀ + b)
  bool needs_input_gradient = true;
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;

  /// Of a micro-batch, for Block::products().
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const;

  /// Bytes of workspace that the functions below take; backward: of all gradients.
  [[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, std::int64_t rows) const;
  [[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, std::int64_t rows) const;

  void forward(const StepContext& context, const ParameterTensors& weights, const Tensor& x, const Tensor& y,
               std::byte* workspace) const;
  /// dW, and db where the engine has it; added to what is there if `accumulate`.
  void weight_gradient(const StepContext& context, const ParameterTensors& gradients, bool accumulate,
                       const Tensor& dy, const Tensor& x, std::byte* workspace) const;
  /// dx, or dx + dy·W.
  void input_gradient(const StepContext& context, const ParameterTensors& weights, const Tensor& dy,
                      const Tensor& dx, std::byte* workspace, bool add = false) const;
  /// Whether the engine can give the gradient of z instead, where x = gelu_tanh(z).
  [[nodiscard]] bool passes_gelu(const GemmEngine& gemm, std::int64_t rows) const;
  void gelu_input_gradient(const StepContext& context, const ParameterTensors& weights, const Tensor& dy,
                           const Tensor& z, const Tensor& dz, std::byte* workspace) const;
  /// db, for the kernel that writes dy to sum; empty where weight_gradient() does it and where
  /// there is none.
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

/// The layers of a residual branch, whose parameters follow the norm's in this order.
[[nodiscard]] std::vector<Linear> linears_of(const BranchOptions& branch,
                                             const std::vector<LinearShape>& shapes);

/// Appends "<name>_weight" [outputs, inputs] and, where there is one, "<name>_bias" [1, outputs].
void add_linear(std::vector<ParameterSpec>& specs, const Linear& linear, float initial_std);

[[nodiscard]] std::vector<BlockProduct> products_of(std::initializer_list<Linear> linears, std::int64_t rows);

}  // namespace mylos

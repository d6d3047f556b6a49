// The products of a residual branch's linear layers, and what surrounds them in both directions.
#pragma once

#include "mylos/kernels/gemm.hpp"
#include "mylos/model/residual_branch.hpp"

namespace mylos {

/// One linear layer inside a block.
struct BranchLinear {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::size_t weight = 0;  // index of its weight in the block's parameters; its bias follows
};

class BranchProducts {
 public:
  explicit BranchProducts(const BranchOptions& options) : options_(options) {}

  /// Bytes of workspace that forward and backward products of `linear` need.
  /// Appends those of Block::products().
  void add_products(std::vector<BlockProduct>& products, const std::string& name, const BranchLinear& linear,
                    std::int64_t rows) const;

  [[nodiscard]] std::size_t forward_workspace(const GemmEngine& gemm, const BranchLinear& linear,
                                              std::int64_t rows) const;
  [[nodiscard]] std::size_t backward_workspace(const GemmEngine& gemm, const BranchLinear& linear,
                                               std::int64_t rows) const;

  /// y = x·Wᵀ + b
  void forward(const StepContext& context, const BranchLinear& linear, const BlockMemory& memory,
               const Tensor& x, const Tensor& y, std::byte* workspace) const;
  /// dW = dyᵀ·x, and the gradient of the layer's bias where the engine sums dy's rows along with it
  void weight_gradient(const StepContext& context, const BranchLinear& linear,
                       const BlockGradients& gradients, const Tensor& dy, const Tensor& x,
                       std::byte* workspace) const;
  /// dx = dy·W, or dx + dy·W
  void input_gradient(const StepContext& context, const BranchLinear& linear, const BlockMemory& memory,
                      const Tensor& dy, const Tensor& dx, std::byte* workspace, bool add = false) const;
  /// The gradient of the layer's bias that must be summed before weight_gradient(); empty where that does it,
  /// and where there is no bias.
  [[nodiscard]] Tensor bias_gradient(const GemmEngine& gemm, const BranchLinear& linear,
                                     const BlockGradients& gradients, std::int64_t rows) const;

 private:
  [[nodiscard]] GemmProblem output_product(const BranchLinear& linear, std::int64_t rows) const;
  [[nodiscard]] GemmProblem weight_product(const GemmEngine& gemm, const BranchLinear& linear,
                                           std::int64_t rows, bool accumulate) const;
  [[nodiscard]] GemmProblem input_product(const BranchLinear& linear, std::int64_t rows, bool add) const;

  const BranchOptions& options_;
};

}  // namespace mylos

// ChainBranch: the chain goes on from an earlier boundary s: y = s. Its input x is for a later block to bring
// in.
//
// So a graph of layers is a chain: where a residual connection has layers of its own (He et al. 2016, arXiv
// 1512.03385, the projections at the begin of a stage), they come first, then the branch, the residual layers
// and the sum. Backward: ds = dy, and dx is 0 but for what later readers of x add. Nothing is kept.
#pragma once

#include "mylos/model/block/block.hpp"

namespace mylos {

struct ChainBranchOptions {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t skip_inputs = 0;
  DType input_type = DType::fp32;
  DType skip_type = DType::fp32;  // of the output too
};

class ChainBranch final : public Block {
 public:
  explicit ChainBranch(ChainBranchOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return {}; }
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  Signature signature_;
};

}  // namespace mylos

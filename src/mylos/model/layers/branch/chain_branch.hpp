// ChainBranch: continues the chain from an earlier boundary s: y = s. A later block joins the branch's input
// x.
//
// So a chain can represent a graph of layers. If a residual connection has its own layers (the projections at
// the start of a stage, He et al. 2016, arXiv 1512.03385), the chain lists them first, then the branch, the
// residual layers and the sum. Backward: ds = dy, and dx is the sum of what later readers of x add. Nothing
// is saved.
#pragma once

#include "mylos/model/block.hpp"

namespace mylos {

struct ChainBranchOptions {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t skip_inputs = 0;
  DType input_type = DType::fp32;
  DType skip_type = DType::fp32;  // also of the output
};

class ChainBranch final : public Block {
 public:
  explicit ChainBranch(ChainBranchOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  Signature signature_;
};

}  // namespace mylos

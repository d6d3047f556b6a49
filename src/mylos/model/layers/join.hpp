// Join: the block that brings an earlier boundary back in: the end of a residual or U-Net connection.
//
//   add      y = x + s, rounded once                       (He et al. 2016, arXiv 1512.03385)
//   concat   y = [x, s] side by side at every grid point   (Ronneberger et al. 2015, arXiv 1505.04597)
//
// s is the boundary that the chain carries to it (skips.hpp). Backward reads neither x nor s: the gradients
// are copies and columns of that of y. Nothing is kept.
#pragma once

#include "mylos/model/block/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

enum class JoinType { add, concat };

struct JoinOptions {
  std::string name;
  JoinType join = JoinType::add;
  std::int64_t points = 1;         // of the grid of a row
  std::int64_t channels = 0;       // of x at each
  std::int64_t skip_channels = 0;  // of s; add: as many
  DType input_type = DType::fp32;  // another type than `type` is cast at the entry
  DType skip_type = DType::fp32;   // the same
  DType type = DType::fp32;
};

class Join final : public Block {
 public:
  /// Throws Error (bad_input) where an addition has unequal channels.
  explicit Join(JoinOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override { return {}; }
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  JoinOptions options_;
  Signature signature_;
};

}  // namespace mylos

// AttentionBlock: y = x + dropout(Wo·attention(Wqkv·norm(x) + b) + b), causal multi-head attention over the
// tokens of each sample, with rotary positions where asked (Vaswani et al., arXiv 1706.03762; GPT-2's order).
//
// Rows are tokens. Between x and y lie norm(x) [rows, width] and its statistics, qkv [rows, 3 width]
// (rotated), the attention's output [rows, width] and the log-sums of its softmax (float, heads per row).
//   "all"    keeps all of these
//   "lean"   computes norm(x) and its statistics again
//   "input"  computes all of these again, but not the product with Wo
// With a key-value cache the rows continue the cache's one sample, and nothing can be kept.
#pragma once

#include "mylos/base/random.hpp"
#include "mylos/model/residual_branch.hpp"

namespace mylos {

struct AttentionOptions {
  BranchOptions branch;
  std::int64_t heads = 1;
  bool rotary = false;
  std::size_t layer = 0;  // its place in a key-value cache
};

class AttentionBlock final : public Block {
 public:
  explicit AttentionBlock(AttentionOptions options);

  [[nodiscard]] const std::string& name() const override { return options_.branch.name; }
  [[nodiscard]] std::string_view kind() const override { return "attention"; }
  [[nodiscard]] std::int64_t inputs() const override { return options_.branch.width; }
  [[nodiscard]] std::int64_t outputs() const override { return options_.branch.width; }
  [[nodiscard]] DType input_type() const override { return options_.branch.input_type; }
  [[nodiscard]] DType output_type() const override { return options_.branch.type; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  AttentionOptions options_;
  RandomStream residual_stream_;
  RandomStream probability_stream_;
};

}  // namespace mylos

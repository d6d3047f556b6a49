// FeedForward: y = x + dropout(Wdown·a + b), a = gelu(z) with z = Wup·norm(x) + b (GPT-2; the tanh form of
// gelu), or a = silu(z) ∘ u with z = Wgate·norm(x) + b, u = Wup·norm(x) + b (SwiGLU: Shazeer, arXiv
// 2002.05202).
//
// Rows are tokens. Between x and y lie norm(x) [rows, width] and its statistics, z (and u) and a
// [rows, hidden].
//   "all"    keeps all of these
//   "lean"   keeps z (and u), computes norm(x) and a again
//   "input"  computes all of these again, but not the product with Wdown
#pragma once

#include "mylos/base/random.hpp"
#include "mylos/model/residual_branch.hpp"

namespace mylos {

struct FeedForwardOptions {
  BranchOptions branch;
  std::int64_t hidden = 0;
  FeedForwardType type = FeedForwardType::gelu;
};

class FeedForward final : public Block {
 public:
  explicit FeedForward(FeedForwardOptions options);

  [[nodiscard]] const std::string& name() const override { return options_.branch.name; }
  [[nodiscard]] std::string_view kind() const override { return "mlp"; }
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
  FeedForwardOptions options_;
  RandomStream dropout_stream_;
};

}  // namespace mylos

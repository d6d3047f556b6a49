// LayerNormBlock: y = gamma ∘ (x - mean) / sqrt(variance + epsilon) + beta over the features of each row
// (Ba, Kiros, Hinton, arXiv 1607.06450). Statistics in float whatever the storage; kept: mean and 1/sigma per
// row.
#pragma once

#include "mylos/model/block.hpp"

namespace mylos {

struct LayerNormOptions {
  std::string name;
  std::int64_t width = 0;
  float epsilon = 1e-5f;
  DType input_type = DType::fp32;  // another type than `type` is cast at the entry
  DType type = DType::fp32;
};

class LayerNormBlock final : public Block {
 public:
  explicit LayerNormBlock(LayerNormOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const std::string& name() const override { return options_.name; }
  [[nodiscard]] std::string_view kind() const override { return "layernorm"; }
  [[nodiscard]] std::int64_t inputs() const override { return options_.width; }
  [[nodiscard]] std::int64_t outputs() const override { return options_.width; }
  [[nodiscard]] DType input_type() const override { return options_.input_type; }
  [[nodiscard]] DType output_type() const override { return options_.type; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  LayerNormOptions options_;
};

}  // namespace mylos

// PositionsBlock: y = x + p, with a trained number for each channel of each point. It saves nothing.
#pragma once

#include <string>

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct PositionsOptions {
  std::string name;
  GridShape grid;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
};

class PositionsBlock final : public Block {
 public:
  explicit PositionsBlock(PositionsOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  PositionsOptions options_;
  Signature signature_;
};

}  // namespace mylos

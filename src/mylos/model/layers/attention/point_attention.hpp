// PointAttention: multi-head attention of each point of a grid to all points
// (kernels/attention/attention.hpp, not causal). The channels of its input are queries, keys and values, a
// third each.
//
// It has no weights. Saved: the log sums of the softmax, a float per point and head.
#pragma once

#include <string>

#include "mylos/kernels/attention/attention_shape.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct PointAttentionOptions {
  std::string name;
  std::int64_t points = 1;
  std::int64_t heads = 1;
  std::int64_t head_width = 1;
  DType type = DType::fp32;  // of input and output
};

class PointAttention final : public Block {
 public:
  explicit PointAttention(PointAttentionOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;

  [[nodiscard]] AttentionShape shape_of(std::int64_t rows) const;

  PointAttentionOptions options_;
  Signature signature_;
};

}  // namespace mylos

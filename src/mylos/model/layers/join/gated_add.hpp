// GatedAdd: adds an earlier boundary s whose channels have a trained factor each (soft gating,
// kernels/pointwise/soft_gate.hpp): y = x + weight * s at every grid point.
//
// Parameter: weight [1, channels], initially 1. s is a skip tensor of the chain (skips.hpp). Backward reads s
// and saves nothing. Where sums are taken by boxes (kernels/grid/sum_boxes.hpp), that of the weight is.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct GatedAddOptions {
  std::string name;
  GridShape grid;                  // of x, s and y
  GridPart part = {};              // of a sample, whose box is the grid
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType skip_type = DType::fp32;   // as input_type, for s
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
};

class GatedAdd final : public Block {
 public:
  explicit GatedAdd(GatedAddOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;
  struct Backward;

  GatedAddOptions options_;
  SumBoxes boxes_;
  Signature signature_;
};

}  // namespace mylos

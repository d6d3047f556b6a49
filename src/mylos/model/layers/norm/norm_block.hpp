// NormBlock: normalises over the features of each row, or over the channels of each point of a row's grid, as
// a separate block (Ba, Kiros, Hinton, arXiv 1607.06450; Zhang, Sennrich, arXiv 1910.07467). Saved: the
// statistics. Where sums are taken by boxes (kernels/grid/sum_boxes.hpp), the parameters' are.
#pragma once

#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/model/block/norm.hpp"

namespace mylos {

struct NormOptions {
  std::string name;
  Norm norm;
  Extents extents = {1, 1, 1};     // of a row's grid, whose points are normalised separately
  GridPart part = {};              // of a sample, whose box is the grid
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;

  [[nodiscard]] GridShape grid() const { return {extents, norm.width}; }
  [[nodiscard]] std::int64_t points() const { return grid().points(); }
};

class NormBlock final : public Block {
 public:
  explicit NormBlock(NormOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override {
    return options_.norm.parameters("", options_.type, options_.gradient_type);
  }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  [[nodiscard]] std::optional<InputNorm> input_norm(const StepContext& context,
                                                    const BlockMemory& memory) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Backward;
  void backward_by_boxes(const Execution& exec, const Backward& own, const ConstTensor& x,
                         const ParameterTensors& weights, const BlockGradients& gradients,
                         const Tensor& dx) const;

  NormOptions options_;
  SumBoxes boxes_;
  Signature signature_;
};

}  // namespace mylos

// GroupNormBlock: normalises each sample and each group of adjacent channels over the grid
// (kernels/norm/group_norm.hpp; Wu and He 2018, arXiv 1803.08494).
//
// Parameters: weight and bias [1, channels]. Saved: mean and 1/sigma of each sample and group, in float.
// Those of a sample that ranks hold in boxes are of all of its boxes. Where sums are taken by boxes
// (kernels/grid/sum_boxes.hpp), those of statistics and parameters are.
#pragma once

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct GroupNormOptions {
  std::string name;
  GridShape grid;
  std::int64_t groups = 1;
  GridPart part = {};  // of a sample, whose box is the grid
  float epsilon = 1e-5f;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
};

class GroupNormBlock final : public Block {
 public:
  /// Throws Error (bad_input) if the groups do not divide the channels.
  explicit GroupNormBlock(GroupNormOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Statistics;
  struct Forward;
  struct Backward;
  /// Returns the values of a group in all boxes.
  [[nodiscard]] std::int64_t values() const {
    return options_.part.whole_points(options_.grid.extent) * (options_.grid.channels / options_.groups);
  }

  /// Computes the sums of each sample and group of this rank's box, and the gradients of the parameters.
  void sum_gradients(const Execution& exec, const Backward& own, const ConstTensor& x,
                     const Statistics& statistics, const ParameterTensors& weights,
                     const BlockGradients& gradients) const;

  GroupNormOptions options_;
  SumBoxes boxes_;
  Signature signature_;
};

}  // namespace mylos

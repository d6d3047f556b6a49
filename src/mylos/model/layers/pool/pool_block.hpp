// PoolBlock: the maximum or average over windows of a sample's grid, or the average over the complete grid
// (kernels/grid/pooling.hpp). The block has no weights. Backward of a maximum reads forward's input and
// output; nothing else is saved. Of a part of the samples' grids the block extends the input and, in
// backward, the output's gradient by what other ranks hold (split_pool.hpp). The average over the grid of a
// sample that ranks hold in boxes is that of all boxes: the same vector on each of them.
#pragma once

#include <optional>

#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/layers/pool/split_pool.hpp"

namespace mylos {

enum class PoolType { max, average, global_average };

struct PoolOptions {
  std::string name;
  PoolType pool = PoolType::max;
  PoolShape shape;           // of a rank's box; global_average: only the input is used
  DType type = DType::fp32;  // of input and output
  GridPart part = {};
};

class PoolBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape) and split().
  explicit PoolBlock(PoolOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;
  struct Backward;
  void average(const StepContext& context, const BlockMemory& memory) const;
  /// Returns whether a pass of a divided sample reads the output of windows of other ranks.
  [[nodiscard]] bool extends_output() const;
  [[nodiscard]] PoolWorkspace workspace(std::int64_t rows) const;
  void pool_backward(const StepContext& context, const PoolShape& shape, const ConstTensor& x,
                     const ConstTensor& y, const ConstTensor& dy, const Tensor& dx, std::byte* kernels) const;

  PoolOptions options_;
  std::optional<SplitPool> split_;  // if windows see points of other boxes
  GridShape output_;
  Signature signature_;
};

}  // namespace mylos

// PoolBlock: the maximum or average over windows of a sample's grid, or the average over the complete grid
// (kernels/grid/pooling.hpp). The block has no weights. Backward of a maximum reads forward's input and
// output; nothing else is saved. The average over the grid of a sample that ranks hold in boxes is that of
// all boxes: the same vector on each of them.
#pragma once

#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

enum class PoolType { max, average, global_average };

struct PoolOptions {
  std::string name;
  PoolType pool = PoolType::max;
  PoolShape shape;           // global_average: only the input is used
  DType type = DType::fp32;  // of input and output
  std::int64_t boxes = 1;    // global_average: of a sample, of which the input is one
};

class PoolBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape).
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
  void average(const StepContext& context, const BlockMemory& memory) const;

  PoolOptions options_;
  GridShape output_;
  Signature signature_;
};

}  // namespace mylos

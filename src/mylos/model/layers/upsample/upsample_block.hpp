// UpsampleBlock: interpolates each sample to a finer grid, by the nearest point or linearly
// (kernels/grid/upsample.hpp). It has no weights and saves nothing.
#pragma once

#include <optional>

#include "mylos/kernels/grid/upsample.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/layers/upsample/split_upsample.hpp"

namespace mylos {

struct UpsampleOptions {
  std::string name;
  UpsampleShape shape;       // of a rank's box
  DType type = DType::fp32;  // of input and output
  GridPart part = {};
};

class UpsampleBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape) and split().
  explicit UpsampleBlock(UpsampleOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;
  struct Backward;

  UpsampleOptions options_;
  std::optional<SplitUpsample> split_;  // if it interpolates between points of several boxes
  GridShape output_;
  Signature signature_;
};

}  // namespace mylos

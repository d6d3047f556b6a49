// GatherBlock: the whole grid of each sample from the boxes that ranks hold, on each of these ranks: what
// layers that read a sample as a vector need.
//
// Each rank writes its box into zeros, and the sum over the ranks is the whole, exactly. Later layers and the
// loss then compute the same vector on all of them, and each rank has an equal part of its gradient: the
// gradient of a box is that of its points times the number of boxes. The block has no weights and saves
// nothing.
#pragma once

#include "mylos/kernels/grid/margins.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct GatherOptions {
  std::string name;
  MarginShape shape;         // the box, and where it lies in the whole grid
  std::int64_t boxes = 2;    // of a sample
  DType type = DType::fp32;  // of input and output
};

class GatherBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape).
  explicit GatherBlock(GatherOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  GatherOptions options_;
  Signature signature_;
};

}  // namespace mylos

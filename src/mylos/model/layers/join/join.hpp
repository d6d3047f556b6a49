// Join: joins an earlier boundary, at the end of a residual or U-Net connection.
//
//   add      y = x + s, rounded once                       (He et al. 2016, arXiv 1512.03385)
//   concat   y = [x, s] side by side at every grid point   (Ronneberger et al. 2015, arXiv 1505.04597),
//            or [s, x]
//
// s is a skip tensor of the chain (skips.hpp). Backward reads neither x nor s: their gradients are copies and
// columns of y's. Nothing is saved.
#pragma once

#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

enum class JoinType { add, concat };

struct JoinOptions {
  std::string name;
  JoinType join = JoinType::add;
  bool skip_first = false;         // concat: [s, x]
  std::int64_t points = 1;         // of the grid of a row
  std::int64_t channels = 0;       // of x at each point
  std::int64_t skip_channels = 0;  // of s; add: equal to `channels`
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType skip_type = DType::fp32;   // as input_type, for s
  DType type = DType::fp32;
};

class Join final : public Block {
 public:
  /// Throws Error (bad_input) if an addition has unequal channels.
  explicit Join(JoinOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  JoinOptions options_;
  Signature signature_;
};

}  // namespace mylos

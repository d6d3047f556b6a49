// ActivationBlock: y = dropout(activation(x)), after a norm or a join, whose blocks compute no activation.
//
// Backward reads y if the derivative follows from it (relu; tanh without dropout), otherwise x. Nothing else
// is saved. Dropout's random numbers are drawn again; those of a box are the box's part of the whole
// sample's.
#pragma once

#include <optional>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ActivationOptions {
  std::string name;
  std::int64_t width = 0;
  Activation activation = Activation::none;
  double dropout = 0;
  DType type = DType::fp32;  // of input and output
  std::uint64_t seed = 0;
  std::optional<GridBox> box = {};  // of the samples' grids, if they are divided
};

class ActivationBlock final : public Block {
 public:
  explicit ActivationBlock(ActivationOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  [[nodiscard]] Dropout dropout(const StepContext& context) const;
  /// Returns the matrix with the rows that dropout() is of.
  template <class Tensor>
  [[nodiscard]] Tensor rows_of(const Tensor& matrix) const;

  ActivationOptions options_;
  Signature signature_;
  RandomStream dropout_stream_;
};

}  // namespace mylos

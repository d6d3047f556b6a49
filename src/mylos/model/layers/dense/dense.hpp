// Dense: y = dropout(activation(x·Wᵀ + b)), W [outputs, inputs], b [outputs].
//
// Saved for backward besides x and y: nothing for relu and for no activation (and for tanh without dropout),
// whose derivative follows from y. The other activations need the pre-activation z [rows, outputs]: variant
// "all" saves it, variant "input" recomputes it. Dropout masks come from counter-based random numbers; they
// are drawn again and never stored.
#pragma once

#include "mylos/base/numbers/random.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/block/block_product.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct DenseOptions {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  Activation activation = Activation::none;
  double dropout = 0;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  bool first = false;  // no gradient of its input is needed
  std::uint64_t seed = 0;
};

class Dense final : public Block {
 public:
  explicit Dense(DenseOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  [[nodiscard]] std::vector<BlockProduct> products(std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  DenseOptions options_;
  Signature signature_;
  RandomStream dropout_stream_;
};

}  // namespace mylos

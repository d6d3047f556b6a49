// NonnegativeBlock: makes some channels of a network's outputs at least 0
// (kernels/pointwise/nonnegative.hpp). It has no trained weights and saves nothing.
#pragma once

#include <string>
#include <vector>

#include "mylos/kernels/options.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct NonnegativeOptions {
  std::string name;
  std::int64_t width = 0;             // of a sample: points times channels
  std::int64_t channels = 1;          // of a point
  std::vector<std::int64_t> of = {};  // the channels that are at least 0, ascending
  NonnegativeForm form = NonnegativeForm::softplus;
  DType type = DType::fp32;  // of input and output
};

class NonnegativeBlock final : public Block {
 public:
  explicit NonnegativeBlock(NonnegativeOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<BufferSpec> buffers() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  NonnegativeOptions options_;
  std::vector<float> chosen_;  // [channels]: 1 for those that are at least 0, else 0
  std::string chosen_name_;    // of the buffer that holds them
  Signature signature_;
};

}  // namespace mylos

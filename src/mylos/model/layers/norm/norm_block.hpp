// NormBlock: normalises over the features of each row, or over the channels of each point of a row's grid, as
// a separate block (Ba, Kiros, Hinton, arXiv 1607.06450; Zhang, Sennrich, arXiv 1910.07467). Saved: the
// statistics.
#pragma once

#include "mylos/model/block/norm.hpp"

namespace mylos {

struct NormOptions {
  std::string name;
  Norm norm;
  std::int64_t points = 1;         // of a row's grid, each normalised separately
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
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
  NormOptions options_;
  Signature signature_;
};

}  // namespace mylos

// ConvolutionBlock: y = dropout(activation(x * W + b)) on the grid of each sample
// (kernels/convolution/convolution.hpp).
//
// W [outputs, taps · channels / groups] (transposed: [channels, taps · outputs / groups]), b [outputs]. The
// block saves the same tensors as Dense besides x and y: variant "all" saves the pre-activation if the
// derivative does not follow from y; "input" recomputes it.
#pragma once

#include "mylos/base/numbers/random.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ConvolutionOptions {
  std::string name;
  ConvolutionShape shape;
  bool bias = true;
  Activation activation = Activation::none;
  double dropout = 0;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  bool first = false;  // no gradient of its input is needed
  std::uint64_t seed = 0;
};

class ConvolutionBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape).
  explicit ConvolutionBlock(ConvolutionOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] bool sums_by_library(const Engines& engines) const override {
    return convolution_.sums_by_library(engines);
  }
  [[nodiscard]] const Convolution* convolution() const override { return &convolution_; }
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  bool write_source(SourceLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;
  struct Backward;
  [[nodiscard]] bool needs_pre_activation() const;
  void convolve(const StepContext& context, const ParameterTensors& weights, const ConstTensor& x,
                const Tensor& z, std::byte* workspace) const;

  ConvolutionOptions options_;
  Convolution convolution_;
  Signature signature_;
  RandomStream dropout_stream_;
};

/// Returns the specs of a convolution's weights and, with `bias`, its bias, with PyTorch's initial
/// distribution.
[[nodiscard]] std::vector<ParameterSpec> convolution_parameters(const ConvolutionShape& shape, bool bias,
                                                                DType type, DType gradient_type);

}  // namespace mylos

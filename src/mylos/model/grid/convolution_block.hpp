// ConvolutionBlock: y = dropout(activation(x * W + b)) on the grid of each sample
// (kernels/convolution/convolution.hpp).
//
// W [outputs, taps · channels / groups] (of a transposed one: [channels, taps · outputs / groups]), b
// [outputs]. What is kept for backward besides x and y is what Dense keeps: the pre-activation where the
// derivative does not follow from y, in variant "all"; "input" computes it again.
#pragma once

#include "mylos/base/numbers/random.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/model/block/block.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ConvolutionOptions {
  std::string name;
  ConvolutionShape shape;
  bool bias = true;
  Activation activation = Activation::none;
  double dropout = 0;
  DType input_type = DType::fp32;  // another type than `type` is cast at the entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  bool first = false;  // nobody needs the gradient of its input
  std::uint64_t seed = 0;
};

class ConvolutionBlock final : public Block {
 public:
  /// Throws Error (bad_input) as check(shape) does.
  explicit ConvolutionBlock(ConvolutionOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] bool sums_by_library(const GemmEngine& gemm) const override {
    return convolution_.sums_by_library(gemm);
  }
  [[nodiscard]] const Convolution* convolution() const override { return &convolution_; }
  [[nodiscard]] BlockCost cost(const GemmEngine& gemm, std::int64_t rows) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

 private:
  struct Forward;
  struct Backward;
  [[nodiscard]] bool needs_pre_activation() const;
  [[nodiscard]] Tensor by_points(const Tensor& output) const;
  void convolve(const StepContext& context, const ParameterTensors& weights, const Tensor& x, const Tensor& z,
                std::byte* workspace) const;

  ConvolutionOptions options_;
  Convolution convolution_;
  Signature signature_;
  RandomStream dropout_stream_;
};

/// The weights and, with `bias`, the bias of a convolution, drawn as PyTorch draws them.
[[nodiscard]] std::vector<ParameterSpec> convolution_parameters(const ConvolutionShape& shape, bool bias,
                                                                DType type, DType gradient_type);

}  // namespace mylos

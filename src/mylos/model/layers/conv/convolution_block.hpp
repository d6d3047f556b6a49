// ConvolutionBlock: y = dropout(activation(x * W + b)) on the grid of each sample
// (kernels/convolution/convolution.hpp).
//
// W [outputs, taps · channels / groups] (transposed: [channels, taps · outputs / groups]), b [outputs]. The
// block saves the same tensors as Dense besides x and y: variant "all" saves the pre-activation if the
// derivative does not follow from y; "input" recomputes it.
//
// Of a part of the samples' grids the block extends x, and in backward dz, by the points that other ranks
// hold (split_convolution.hpp). Where sums are taken by boxes (sum_boxes.hpp), those of weights and bias are.
#pragma once

#include "mylos/base/numbers/random.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/kernels/pointwise/dropout.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/layers/conv/split_convolution.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ConvolutionOptions {
  std::string name;
  ConvolutionShape shape;  // of a rank's box
  bool bias = true;
  Activation activation = Activation::none;
  double dropout = 0;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  bool first = false;  // no gradient of its input is needed
  std::uint64_t seed = 0;
  GridPart part = {};
};

class ConvolutionBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of split().
  explicit ConvolutionBlock(ConvolutionOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] bool sums_by_library(const Engines& engines) const override {
    return sums().sums_by_library(engines);
  }
  [[nodiscard]] const Convolution* convolution() const override { return &forward_; }
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
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
  /// Returns whether backward reads the output's gradient of other ranks.
  [[nodiscard]] bool extends_gradient() const {
    return !split_.output.none() && (!options_.first || options_.shape.transposed);
  }
  /// Returns the convolution of the weight gradient.
  [[nodiscard]] const Convolution& sums() const {
    if (sums_of_box_) return *sums_of_box_;
    return options_.shape.transposed ? backward_ : forward_;
  }
  /// Computes the weight gradient. `x` or, transposed, `dz`: with the points around the box.
  void sum_weights(const StepContext& context, const Backward& own, const ConstTensor& x, const Tensor& dz,
                   const BlockGradients& gradients) const;
  void sum_bias_by_boxes(const Execution& exec, const Backward& own, const ConstTensor& dz,
                         const BlockGradients& gradients) const;
  [[nodiscard]] std::size_t workspace_bytes(const Engines& engines, std::int64_t rows) const;
  [[nodiscard]] SparedFlops spared_flops(const Engines& engines) const;
  [[nodiscard]] Dropout dropout(const StepContext& context) const;
  void convolve(const StepContext& context, const ParameterTensors& weights, const ConstTensor& x,
                const Tensor& z, std::byte* workspace) const;

  ConvolutionOptions options_;
  SplitConvolution split_;
  GridShape output_;
  Convolution forward_;
  Convolution backward_;                        // of the input's gradient; the same without parts
  std::vector<Convolution> backward_of_boxes_;  // if they differ: ranks take the memory of the largest
  SumBoxes input_boxes_;
  SumBoxes output_boxes_;
  std::optional<Convolution> sums_of_box_;  // if there are several
  Signature signature_;
  RandomStream dropout_stream_;
  std::optional<GridBox> output_box_;  // of the samples' grids, if they are divided
};

/// Returns the specs of a convolution's weights and, with `bias`, its bias, with PyTorch's initial
/// distribution.
[[nodiscard]] std::vector<ParameterSpec> convolution_parameters(const ConvolutionShape& shape, bool bias,
                                                                DType type, DType gradient_type);

}  // namespace mylos

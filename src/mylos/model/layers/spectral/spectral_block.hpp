// SpectralBlock: a spectral convolution on the grid of each sample (kernels/spectral/spectral.hpp), and a
// bias.
//
// Parameters:
//   weight  [modes, 2 · inputs · outputs]: in a mode's row, for each input channel the real parts for all
//           outputs, then the imaginary parts for all outputs: [inputs][re, im][outputs]. Modes are numbered
//           as in the weights [inputs, outputs, modes...] of neuraloperator
//           (kernels/spectral/spectral_shape.hpp).
//   bias    [1, outputs], added at every point.
// Initial values are neuraloperator's: normal, with variance 2 / (inputs + outputs) of a complex weight, half
// of it in each part, and of a bias.
//
// The matrices of the transforms are constants of the grid's extents: blocks of the same extent, modes and
// type share them (BufferRole::constant). They are not in checkpoints.
//
// Of samples that several ranks divide, they are those of the box's points, and the ranks add up coefficients
// in double, in the workspace.
//
// Saved: variant "all" saves the input's Fourier coefficients of the kept modes, in the block's type; "input"
// recomputes them.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/spectral/spectral.hpp"
#include "mylos/model/block.hpp"

namespace mylos {

struct SpectralOptions {
  std::string name;
  SpectralShape shape;
  bool bias = true;
  DType input_type = DType::fp32;  // an input of another type than `type` is cast on entry
  DType type = DType::fp32;
  DType gradient_type = DType::fp32;
  bool first = false;  // no gradient of its input is needed
};

class SpectralBlock final : public Block {
 public:
  /// Throws Error (bad_input) under the conditions of check(shape).
  explicit SpectralBlock(SpectralOptions options);

  [[nodiscard]] const Signature& signature() const override { return signature_; }
  [[nodiscard]] std::vector<ParameterSpec> parameters() const override;
  [[nodiscard]] std::vector<BufferSpec> buffers() const override;
  [[nodiscard]] BlockCost cost(const Engines& engines, std::int64_t rows) const override;
  [[nodiscard]] std::vector<SampleCall> sample_calls(std::int64_t rows, const BlockPass& pass) const override;
  bool write_onnx(OnnxLayer& layer) const override;
  void forward(const StepContext& context, const BlockMemory& memory) const override;
  void backward(const StepContext& context, const BlockMemory& memory,
                const BlockGradients& gradients) const override;

  [[nodiscard]] const SpectralConvolution* spectral() const override { return &convolution_; }

 private:
  struct Forward;
  struct Backward;
  [[nodiscard]] SpectralMatrices matrices_of(const ParameterTensors& buffers) const;
  [[nodiscard]] SpectralStep step_of(const StepContext& context, const SpectralMatrices& matrices,
                                     std::byte* workspace) const;
  [[nodiscard]] Tensor coefficients_in(Pieces& pieces, std::int64_t rows) const;

  SpectralOptions options_;
  SpectralConvolution convolution_;
  Signature signature_;
  std::string analysis_names_[3];  // of the matrices of each axis: steps build no strings
  std::string synthesis_names_[3];
};

}  // namespace mylos

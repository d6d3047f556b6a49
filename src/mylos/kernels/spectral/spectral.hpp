// Spectral convolutions on grids, forward and backward (spectral_shape.hpp has the formula), for any extents.
//
// All transforms are GEMMs with real matrices of cos and sin, one axis after the other; there is no FFT. With
// C_a [basis, n_a], the cos of the wave numbers 0 to m/2 and the sin of 1 to m/2 at the points of axis a:
//
//   analysis   q = (C_1 / n_1) ... (C_d / n_d) x   [basis ..., channels]: real coefficients, averages of x
//   synthesis  y = C_1ᵀ ... C_dᵀ q                 [points ..., channels]
//
// The complex coefficient of a mode is a sum of up to 2^d of the q, with signs, and vice versa
// (spectral_coefficients.hpp). The modes are mixed by one batch of GEMMs. Because analysis divides by the
// points and synthesis does not, the backward pass runs the same two transforms, with the transposed weights
// between them:
//
//   ê = analysis(dy)     dx = synthesis(w · ê W^H)     dW = N · w · x̂^H ê
//
// No value of a transform is larger than the largest of its input (analysis) or than the sum of the
// coefficients that make up the field (synthesis), so that half overflows only where the result does.
//
// Storage: coefficients and the results of each axis are rounded to the type; sums, the last result of an
// analysis and the products of the mixing are float. The order of all sums depends on shape, type and engine,
// not on threads or the number of samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/kernels/spectral/spectral_shape.hpp"

namespace mylos {

/// The matrix of an axis, row-major: C / points [basis, points] for the analysis, Cᵀ [points, basis] for the
/// synthesis. Computed in double; cos and sin of multiples of a quarter turn are exact.
[[nodiscard]] std::vector<float> analysis_matrix(std::int64_t points, std::int64_t modes);
[[nodiscard]] std::vector<float> synthesis_matrix(std::int64_t points, std::int64_t modes);

/// The matrices of all axes, in the type of the convolution; those of an axis of one point are not read.
struct SpectralMatrices {
  const void* analysis[3] = {};
  const void* synthesis[3] = {};
};

struct SpectralGradients {
  Tensor weight;            // [modes, 2 · inputs · outputs]
  Tensor bias;              // [1, outputs], or empty
  bool accumulate = false;  // add to the contents of both
};

/// A spectral convolution of given sizes and element type. Weights [modes, 2 · inputs · outputs], in each row
/// [inputs][re, im][outputs].
class SpectralConvolution {
 public:
  /// Throws Error as check(shape) does, and if kernels do not compute in the type.
  SpectralConvolution(const SpectralShape& shape, DType type);

  [[nodiscard]] const SpectralShape& shape() const { return shape_; }
  [[nodiscard]] DType type() const { return type_; }

  /// Returns the rows and columns of x̂ for `samples`: [modes, 2 · samples · inputs], in each row
  /// [re, im][samples][inputs].
  [[nodiscard]] std::int64_t coefficients(std::int64_t samples) const {
    return mode_count(shape_) * 2 * samples * shape_.input.channels;
  }

  /// Return exactly the bytes of workspace of the passes below; they suffice for fewer samples.
  [[nodiscard]] std::size_t forward_workspace(const Engines& engines, std::int64_t samples) const;
  [[nodiscard]] std::size_t backward_workspace(const Engines& engines, std::int64_t samples) const;

  /// Return the operations of a sample: of the transforms of x to coefficients or of coefficients to y (which
  /// differ in the channels), and of the mixing.
  [[nodiscard]] double analysis_flops(std::int64_t channels) const;
  [[nodiscard]] double mixing_flops() const;

  /// Returns the GEMMs of forward and backward for `samples`, each with the number of times it runs.
  struct Product {
    std::string name;
    GemmBatch batch;
  };
  [[nodiscard]] std::vector<Product> products(std::int64_t samples, DType gradient_type, bool first) const;

  /// Computes x̂ from x [samples, inputs' columns], rounded to the type.
  void analyse(const Execution& exec, const Engines& engines, const SpectralMatrices& matrices,
               const ConstTensor& x, void* coefficients, std::byte* workspace) const;
  /// Computes y [samples, outputs' columns] from x̂. bias: [1, outputs] or empty.
  void synthesise(const Execution& exec, const Engines& engines, const SpectralMatrices& matrices,
                  const void* coefficients, const ConstTensor& weight, const ConstTensor& bias,
                  const Tensor& y, std::byte* workspace) const;
  /// Computes the gradients from dy and x̂; dx may be empty.
  void backward(const Execution& exec, const Engines& engines, const SpectralMatrices& matrices,
                const void* coefficients, const ConstTensor& weight, const ConstTensor& dy, const Tensor& dx,
                const SpectralGradients& gradients, std::byte* workspace) const;

 private:
  SpectralShape shape_;
  DType type_;
};

}  // namespace mylos

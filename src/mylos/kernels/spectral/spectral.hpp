// Spectral convolutions on grids, forward and backward (spectral_shape.hpp has the formula), for any extents.
//
// All transforms are GEMMs with real matrices of cos and sin, one axis after the other; there is no FFT. With
// C_a [basis, n_a], the cos of the wave numbers 0 to m/2 and the sin of 1 to m/2 at the points of axis a:
//
//   analysis   q = (C_1 / n_1) ... (C_d / n_d) x   [basis ..., channels]: real coefficients, averages of x
//   synthesis  y = C_1ᵀ ... C_dᵀ q                 [points ..., channels]
//
// The complex coefficient of a mode is a sum of up to 2^d of the q, with signs, and vice versa
// (spectral_coefficients.hpp). One batch of GEMMs mixes the channels of all modes. Because analysis divides
// by the number of points and synthesis does not, the backward pass runs the same two transforms, with the
// transposed weights between them:
//
//   ê = analysis(dy)     dx = synthesis(w · ê W^H)     dW = N · w · x̂^H ê     db = N · ê(0)
//
// Of samples that several ranks divide, analysis multiplies the points of a box by their columns of C_a /
// n_a, and synthesis gives the points of the box from their rows of C_aᵀ: axes are independent. The q of
// whole samples are sums over the boxes, once for x̂ and once for the ê of dx. dW and db read the ê of the box
// alone: sums of gradients over all ranks then count each point once. Where sums are taken by boxes
// (sum_boxes.hpp), an analysis is one for each of them.
//
// No value of an analysis is larger than 2^d times the largest of its input. A coefficient q of a synthesis,
// and what lies between its axes, is at most (4/3)^d times the largest value of the field before the bias: it
// is 2 averages per axis of that field times a cos or sin, whose magnitudes average at most 2/3. So half may
// overflow where a field comes within these factors of its largest number.
//
// Coefficients and the results along each axis are rounded to the type. Sums are float, and so are the last
// result of an analysis and the products of the mixing. The order of all sums depends on shape, type and
// engine, not on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/engines/engines.hpp"
#include "mylos/kernels/grid/sum_boxes.hpp"
#include "mylos/kernels/spectral/spectral_shape.hpp"

namespace mylos {

class Pieces;
enum class MixedRows;  // spectral_coefficients.hpp

/// Return the matrix of an axis, row-major: C / points [basis, points] for the analysis, Cᵀ [points, basis]
/// for the synthesis. Computed in double; cos and sin of multiples of a quarter turn are exact.
[[nodiscard]] std::vector<float> analysis_matrix(std::int64_t points, std::int64_t modes);
[[nodiscard]] std::vector<float> synthesis_matrix(std::int64_t points, std::int64_t modes);

/// Write the numbers of these matrices from index `first` on.
void write_analysis(std::int64_t points, std::int64_t modes, std::int64_t first, std::span<float> numbers);
void write_synthesis(std::int64_t points, std::int64_t modes, std::int64_t first, std::span<float> numbers);

/// Write the numbers of the columns (analysis) or rows (synthesis) of the box's points.
void write_analysis(std::int64_t points, const AxisBox& box, std::int64_t modes, std::int64_t first,
                    std::span<float> numbers);
void write_synthesis(std::int64_t points, const AxisBox& box, std::int64_t modes, std::int64_t first,
                     std::span<float> numbers);
/// Writes those of `boxes` equal parts of the box, one analysis after the other.
void write_analyses(std::int64_t points, const AxisBox& box, std::int64_t boxes, std::int64_t modes,
                    std::int64_t first, std::span<float> numbers);

/// The matrices of the axes, in the type of the convolution, in device memory. Those of an axis of one point
/// are not read. Where sums are taken by boxes, an axis has the analysis of each one of its boxes after the
/// other.
struct SpectralMatrices {
  const void* analysis[3] = {};
  const void* synthesis[3] = {};
};

/// What the passes of a convolution need besides their operands.
struct SpectralStep {
  const Execution& exec;
  const Engines& engines;
  const SpectralMatrices& matrices;
  std::byte* workspace;  // aligned like an Arena's tensors
  /// Replaces doubles by their sums over the boxes of the samples. Without it, those of the others are zeros.
  std::function<void(const Tensor& doubles)> add_up = {};
};

struct SpectralGradients {
  Tensor weight;            // empty if not needed
  Tensor bias;              // empty if there is none
  Tensor input;             // in the convolution's type; empty if not needed
  bool accumulate = false;  // add to the contents of weight and bias
};

/// A spectral convolution of given sizes and element type. It owns no memory.
///
/// weight [modes, 2 · inputs · outputs], in each row [inputs][re, im][outputs]; bias [1, outputs].
/// Coefficients [modes, 2 · samples · inputs], in each row [re, im][samples][inputs].
class SpectralConvolution {
 public:
  /// Throws Error as check(shape) does.
  SpectralConvolution(const SpectralShape& shape, DType type);

  [[nodiscard]] const SpectralShape& shape() const { return shape_; }
  [[nodiscard]] DType type() const { return type_; }

  /// Returns the columns of the coefficients of `samples` samples.
  [[nodiscard]] std::int64_t coefficient_columns(std::int64_t samples) const {
    return 2 * samples * shape_.input.channels;
  }
  /// Returns the number of samples whose coefficients kernels can count.
  [[nodiscard]] std::int64_t max_samples() const;
  /// Return the bytes of workspace of the passes; they suffice for fewer samples. Throw Error (too_large) if
  /// the samples have more coefficients than kernels count.
  [[nodiscard]] std::size_t analysis_workspace(const Engines& engines, std::int64_t samples) const;
  [[nodiscard]] std::size_t synthesis_workspace(const Engines& engines, std::int64_t samples) const;
  /// `input`: with the gradient of the input.
  [[nodiscard]] std::size_t backward_workspace(const Engines& engines, std::int64_t samples,
                                               bool input) const;

  /// Returns the bytes of the doubles that the ranks of a sample add up, of x (or y: its channels); 0 if it
  /// is not divided.
  [[nodiscard]] std::size_t sum_bytes(std::int64_t samples, std::int64_t channels) const;

  /// Returns the operations of one transform of a sample, of x (analysis) or y (synthesis): they are the same
  /// in both directions.
  [[nodiscard]] double transform_flops(std::int64_t channels) const;
  /// Returns the operations of the mixing of a sample.
  [[nodiscard]] double mixing_flops() const;

  /// Computes x̂ of x [samples, inputs' columns].
  void analyse(const SpectralStep& step, const ConstTensor& x, const Tensor& coefficients) const;
  /// Computes y [samples, outputs' columns] of x̂. `bias`: empty if there is none.
  void synthesise(const SpectralStep& step, const ConstTensor& coefficients, const ConstTensor& weight,
                  const ConstTensor& bias, const Tensor& y) const;
  /// Computes the gradients of dy and x̂.
  void backward(const SpectralStep& step, const ConstTensor& coefficients, const ConstTensor& weight,
                const ConstTensor& dy, const SpectralGradients& gradients) const;

 private:
  class Buffers;
  struct Transform;
  struct Backward;

  [[nodiscard]] Transform transform(bool to_points, std::int64_t samples, std::int64_t channels) const;
  [[nodiscard]] GemmBatch of_modes(GemmProblem one) const;
  [[nodiscard]] GemmBatch mixing(std::int64_t samples) const;
  [[nodiscard]] GemmBatch transposed_mixing(std::int64_t samples) const;
  [[nodiscard]] GemmBatch weight_gradient_gemms(std::int64_t samples) const;
  void plan_analysis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                     std::int64_t channels) const;
  [[nodiscard]] float* run_analysis(const SpectralStep& step, Buffers& buffers, const ConstTensor& x,
                                    std::int64_t channels, int box) const;
  void plan_synthesis(Buffers& buffers, const Engines& engines, std::int64_t samples,
                      std::int64_t channels) const;
  void run_synthesis(const SpectralStep& step, Buffers& buffers, const void* mixed, MixedRows rows,
                     const ConstTensor& bias, std::int64_t channels, const Tensor& y) const;
  [[nodiscard]] Buffers counted_analysis(const Engines& engines, std::int64_t samples) const;
  [[nodiscard]] Buffers counted_synthesis(const Engines& engines, std::int64_t samples) const;
  [[nodiscard]] Buffers counted_backward(const Engines& engines, std::int64_t samples, bool input) const;

  SpectralShape shape_;
  DType type_;
  SumBoxes input_boxes_;
  SumBoxes output_boxes_;
};

/// Returns the operations that FFTs of real fields need for one transform of a sample of `channels`:
/// 5/2 N log2 N each (Frigo and Johnson, "The design and implementation of FFTW3", 2005).
[[nodiscard]] double fft_flops(const GridShape& grid, std::int64_t channels);

}  // namespace mylos

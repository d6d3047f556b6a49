// Convolutions on grids, forward and backward. A library of convolutions computes a pass if there is one that
// supports it. Otherwise GEMMs compute it: the points that the taps of a kernel see are gathered into the
// rows of a matrix, some rows at a time, so that the workspace is bounded for any batch.
//
//   y = x * W + bias        dx = dy * W, by the adjoint        dW = sum over points of dy and what it saw
//
// For formulas, padding and groups see convolution_shape.hpp. Sums are in float and rounded to the result's
// type once. Their order depends on the shape, the type and the engines; there are no atomics. If the
// GEMMs have the same bits for any number of threads, so have the results, except for dW by a vendor's
// library.
//
// A kernel of one point without stride and padding is a GEMM of the matrices without gathering. A convolution
// whose groups have one channel of input and output (depthwise) uses no GEMM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mylos/base/memory_is_host.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/engines/engines.hpp"

namespace mylos {

/// The maximum bytes that are gathered at a time, including the GEMM results if these cannot be written to
/// the result directly. The limit is exceeded only if convolution_min_rows points take more. On hosts this
/// stays in the caches.
inline constexpr std::int64_t convolution_gathered_bytes =
    memory_is_host ? std::int64_t{4} << 20 : std::int64_t{64} << 20;
inline constexpr std::int64_t convolution_min_rows = 64;

/// The operations of the definition, per sample, that Winograd convolution saves.
struct SparedFlops {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
};

/// A convolution of given sizes and element type. It checks the operands of its passes and runs them.
class Convolution {
 public:
  /// Throws Error as check(shape) does, and if kernels do not compute in the type.
  Convolution(const ConvolutionShape& shape, DType type);

  [[nodiscard]] const ConvolutionShape& shape() const { return shape_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] DType type() const { return type_; }

  /// Returns exactly the bytes of workspace that the passes below need for `samples` rows; they suffice for
  /// fewer rows. The workspace must be aligned like an Arena's tensors.
  ///
  /// By GEMMs, it holds the gathered rows and the engine's workspace. For the backward passes it also holds
  /// the weights once in the type and twice in float. If points beyond the edges stand for several points of
  /// the grid, it holds a padded grid in float, for the number of samples that fit into
  /// convolution_gathered_bytes, at least one.
  ///
  /// By a library, it holds the weights in the library's layout, the library's workspace, and, for at most
  /// that number of samples, float copies of types that the library does not multiply and grids extended
  /// beyond their edges. If the library may refuse a pass, the workspace is the larger of the two.
  [[nodiscard]] std::size_t workspace_bytes(const Engines& engines, std::int64_t samples) const;

  /// Returns the bytes of host memory that the library of convolutions keeps after the passes have
  /// run with each of these numbers of samples: it generates code for each of them.
  [[nodiscard]] std::size_t code_bytes(const Engines& engines, std::span<const std::int64_t> samples) const;

  /// Returns true if a vendor's library sums over samples; it may split the sums by the number of threads.
  [[nodiscard]] bool sums_by_library(const Engines& engines) const;

  /// Returns the operations that Winograd convolution saves with these engines.
  [[nodiscard]] SparedFlops spared_flops(const Engines& engines) const;

  /// Computes y. x: [samples, input columns], y: [samples, output columns], weights: [weight_rows,
  /// weight_columns], all of type(). bias: [1, outputs] of type(), or empty. The tensors must not overlap.
  void forward(const Execution& exec, const Engines& engines, const ConstTensor& x,
               const ConstTensor& weights, const ConstTensor& bias, const Tensor& y, void* workspace) const;

  /// Computes dx: [samples, input columns] of type().
  void input_gradient(const Execution& exec, const Engines& engines, const ConstTensor& dy,
                      const ConstTensor& weights, const Tensor& dx, void* workspace) const;

  /// Computes d_weights (shape of the weights, type() or fp32) and d_bias ([1, outputs] of any type, or
  /// empty). Adds to both if `accumulate`.
  void weight_gradient(const Execution& exec, const Engines& engines, const ConstTensor& x, const Tensor& dy,
                       const Tensor& d_weights, const Tensor& d_bias, bool accumulate, void* workspace) const;

 private:
  ConvolutionShape shape_;
  GridShape output_;
  DType type_;
};

}  // namespace mylos

// Convolutions on grids, forward and backward, by the engine's library of convolutions where it has one for
// the pass, else by products: what the taps of a kernel see is gathered into the rows of a matrix, some rows
// at a time, so that the workspace stays bounded whatever the batch.
//
//   y = x * W + bias        dx = dy * W, by the adjoint        dW = sum over points of dy and what it saw
//
// Formulas, padding and groups: convolution_shape.hpp. Sums are in float and rounded to the result's type
// once. They have an order that the shape, the type and the engine give, without atomics: the same bits for
// any number of threads wherever the engine's products have them (a vendor's library's dW has not).
//
// A kernel of one point without stride and padding is a product of the matrices as they are. A convolution
// whose groups are channels of input and output (depthwise) is no product at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/convolution/convolution_shape.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// What is gathered at a time, with its products where they cannot go to their place at once, takes no more
/// bytes than this, or than `convolution_least_rows` points take. A host's stays in its caches.
inline constexpr std::int64_t convolution_gathered_bytes =
    memory_is_host ? std::int64_t{4} << 20 : std::int64_t{64} << 20;
inline constexpr std::int64_t convolution_least_rows = 64;

/// Of a sample, the operations of the definition that nobody does, as a library filters minimally.
struct SparedFlops {
  double forward = 0;
  double input_gradient = 0;
  double weight_gradient = 0;
};

class Convolution {
 public:
  /// Throws Error as check(shape) does, or unless kernels compute in the type.
  Convolution(const ConvolutionShape& shape, DType type);

  [[nodiscard]] const ConvolutionShape& shape() const { return shape_; }
  [[nodiscard]] const GridShape& output() const { return output_; }
  [[nodiscard]] DType type() const { return type_; }

  /// Exactly what the passes below need for `samples` rows, and enough for fewer; aligned as an Arena aligns.
  /// Besides what is gathered, and what the engine wants: backward the weights once in the type and twice in
  /// float, and, where points beyond the edges stand for several of the grid, a padded grid in float for as
  /// many samples as fit into convolution_gathered_bytes, but at least one. Of a library: the weights in its
  /// layout, what it wants, and, of no more samples than that, floats in place of types it does not multiply
  /// and grids with what lies beyond their edges; of one that may refuse, that or what products need,
  /// whichever is more.
  [[nodiscard]] std::size_t workspace_bytes(const GemmEngine& engine, std::int64_t samples) const;

  /// Host memory that the engine's library of convolutions keeps once the passes have run with each of these
  /// numbers of samples: the code that it generates for each of them.
  [[nodiscard]] std::size_t code_bytes(const GemmEngine& engine, std::span<const std::int64_t> samples) const;

  /// Whether sums over samples are a vendor's library's, which may cut them by the number of threads.
  [[nodiscard]] bool sums_by_library(const GemmEngine& engine) const;

  [[nodiscard]] SparedFlops spared_flops(const GemmEngine& engine) const;

  /// x: [samples, input columns], y: [samples, output columns], weights: [weight_rows, weight_columns], all
  /// of type(). bias: [1, outputs] of type(), or empty. No two overlap.
  void forward(const Execution& exec, GemmEngine& engine, const Tensor& x, const Tensor& weights,
               const Tensor& bias, const Tensor& y, void* workspace) const;

  /// dx: [samples, input columns] of type().
  void input_gradient(const Execution& exec, GemmEngine& engine, const Tensor& dy, const Tensor& weights,
                      const Tensor& dx, void* workspace) const;

  /// d_weights: as weights, of type() or fp32. d_bias: [1, outputs] of any type, or empty. Both are added to
  /// what is there if `accumulate`.
  void weight_gradient(const Execution& exec, GemmEngine& engine, const Tensor& x, const Tensor& dy,
                       const Tensor& d_weights, const Tensor& d_bias, bool accumulate, void* workspace) const;

 private:
  ConvolutionShape shape_;
  GridShape output_;
  DType type_;
};

}  // namespace mylos

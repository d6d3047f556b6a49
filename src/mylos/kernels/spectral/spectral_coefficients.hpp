// Sums that lead from the real coefficients of the transforms to the complex ones of the modes, and back.
//
// The real coefficients of a sample [basis of depth, height, width] are those of products of one cos or sin
// per axis. For the wave numbers k and s sines among the factors,
//
//   x̂(k) = sum over the 2^d products of  (-i)^s · (signs of the k_a of the sines) · q
//
// because e^(-ikθ) = cos |k|θ - i sign(k) sin |k|θ. The synthesis is the adjoint: the coefficient of a
// product is the sum over the modes with these |k_a| of w(k) · Re(i^s · signs · ŷ(k)).
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/tensor.hpp"
#include "mylos/kernels/spectral/spectral_shape.hpp"

namespace mylos {

/// Where the parts of a mode's coefficients go.
enum class ModeRows {
  parts,   // [modes][re, im][samples][channels]
  mirror,  // [modes][2 · samples][2 · channels]: rows [re | im], then rows [im | -re]
};

/// Writes the complex coefficients of the real ones, q [samples, coefficients · channels] of floats.
void gather_modes(const Execution& exec, const SpectralShape& shape, std::int64_t samples,
                  std::int64_t channels, const float* q, ModeRows rows, const Tensor& modes);

/// How products hold the coefficients of a mode, in floats.
enum class MixedRows {
  parts,   // [modes][re, im][samples][channels]
  blocks,  // [modes][2 · samples][2 · channels], blocks {{rr, ri}, {ir, ii}}: re = rr - ii, im = ri + ir
};

/// Writes the real coefficients q [samples, coefficients · channels] of the complex ones, times w. bias
/// [1, channels] is added to the mean; it may be empty.
void scatter_modes(const Execution& exec, const SpectralShape& shape, std::int64_t samples,
                   std::int64_t channels, const float* mixed, MixedRows rows, const ConstTensor& bias,
                   const Tensor& q);

/// Writes or adds N · w · products, of floats, to the weights' gradient [modes, columns].
void scale_weight_gradient(const Execution& exec, const SpectralShape& shape, const float* products,
                           bool accumulate, const Tensor& gradient);

/// Writes or adds the sum over the samples of N times the mean of q to the bias's gradient [1, channels].
void bias_gradient(const Execution& exec, const SpectralShape& shape, std::int64_t samples, const float* q,
                   bool accumulate, const Tensor& gradient);

}  // namespace mylos

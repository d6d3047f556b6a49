// Winograd convolution F(2 x 2, 3 x 3) (Lavin and Gray 2016, arXiv 1509.09308): 2 x 2 outputs take 16
// products per pair of channels, where the definition takes 36. With matrices A, B and G of ones, halves and
// zeros, and ' for the transpose,
//
//   y  = A' [sum over channels of (G w G') * (B' x B)] A     of each 4 x 4 points x, in steps of two
//   dx as y, of dy and the weights rotated by 180 degrees, channels exchanged
//   dw = G' [sum over tiles of (A dy A') * (B' x B)] G
//
// where * is the product element by element. A kernel of several planes sums their products before A. Results
// have a few more roundings than by the definition. If a point is infinite, other points of its tile may
// become NaN. The bits depend neither on the number of threads nor, for a sample, on the other samples.
#pragma once

#include <memory>

#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {

/// Returns a library for floats and for kernels of 3 x 3 points, or of planes of those, without stride,
/// dilation and groups, and with less padding than kernel.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_winograd_convolution();

}  // namespace mylos

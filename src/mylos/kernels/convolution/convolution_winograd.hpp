// Convolutions by Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray 2016, arXiv 1509.09308): of
// 2 x 2 outputs 16 products a pair of channels, where the definition has 36. With matrices A, B and G of
// ones, halves and zeros, and ' for a transposed one,
//
//   y  = A' [sum over channels of (G w G') * (B' x B)] A     of each 4 x 4 points x, in steps of two
//   dx as y, of dy and the weights turned by half a circle, channels exchanged
//   dw = G' [sum over tiles of (A dy A') * (B' x B)] G
//
// where * goes element by element. A kernel of several planes adds up theirs before A. Results have some
// roundings more than by the definition; where a point is infinite others of its tile may become NaN. They
// have the same bits for any number of threads, and a sample's whatever others there are.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

namespace mylos {

/// Of floats, and of kernels of 3 x 3 points, or of planes of those, without stride, dilation and groups, and
/// with less padding than kernel. Passes run on `exec`.
[[nodiscard]] std::unique_ptr<LibraryConvolution> make_winograd_convolution(const Execution& exec = {});

}  // namespace mylos

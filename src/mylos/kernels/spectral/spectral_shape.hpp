// SpectralShape: the sizes of a spectral convolution, which multiplies some Fourier coefficients of a field
// by complex matrices.
//
//   y(p) = sum over the kept wave numbers k of  w(k) · Re( e^(2πi k·p/n) · ŷ(k) )
//   ŷ(k) = sum over the input channels c of  x̂(k, c) · W(k, c)
//   x̂(k) = 1/N · sum over the N points p of  x(p) · e^(-2πi k·p/n)
//
// k·p/n is the sum over the axes of k_a · p_a / n_a. Of `modes` = m, an axis keeps m wave numbers, -⌊m/2⌋ to
// ⌈m/2⌉ - 1. The field is real, so the last axis (width) keeps only 0 to ⌊m/2⌋, and w is 1 where its wave
// number is 0 or n/2 (Nyquist's of an even extent n), and 2 elsewhere. This is the function of `SpectralConv`
// of neuraloperator 2.0.0 with its defaults (Li et al., arXiv 2010.08895; n_modes = modes, norm "forward"),
// if all extents but the last are even. Version 2.0.0 writes the wave number k of an axis of odd extent n,
// other than the last, to k - 1 (it shifts by n/2 in the wrong direction); its later versions do as this
// does.
//
// Of samples that several ranks divide (GridPart), `input` is a rank's box. p, n and N remain those of the
// whole grid: x̂ is the sum of what all boxes add to it.
//
// A mode is a combination of kept wave numbers. Modes are numbered row-major, depth first, each axis from its
// lowest wave number: as in the weights [in, out, modes...] of neuraloperator.
#pragma once

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/grid/grid_shape.hpp"

namespace mylos {

struct SpectralShape {
  GridShape input;
  std::int64_t outputs = 1;   // channels
  Extents modes = {1, 1, 1};  // of each axis; 1 on an axis that the grid lacks
  GridPart part = {};         // which box of the samples' grid `input` is
};

/// Throws Error (bad_input) if a number of modes is less than 1 or more than the points of its axis, or if a
/// count is too large for the kernels.
void check(const SpectralShape& shape);

[[nodiscard]] GridShape output_grid(const SpectralShape& shape);

/// Returns the grid of whole samples of the input.
[[nodiscard]] constexpr GridShape whole_grid(const SpectralShape& shape) {
  GridShape grid = shape.input;
  for (std::size_t axis = 0; axis < 3; ++axis)
    grid.extent[axis] = shape.part.whole_extent(axis, grid.extent[axis]);
  return grid;
}

/// Returns the wave numbers that each axis keeps: m, and along the last axis m/2 + 1.
[[nodiscard]] constexpr Extents kept_wave_numbers(const SpectralShape& shape) {
  return {shape.modes[0], shape.modes[1], shape.modes[2] / 2 + 1};
}

/// Returns the number of modes: the complex matrices [inputs, outputs].
[[nodiscard]] constexpr std::int64_t mode_count(const SpectralShape& shape) {
  const Extents kept = kept_wave_numbers(shape);
  return kept[0] * kept[1] * kept[2];
}

/// Returns the number of real coefficients of an axis: cos of the wave numbers 0 to m/2, sin of 1 to m/2.
[[nodiscard]] constexpr std::int64_t basis_size(std::int64_t modes) {
  return 2 * (modes / 2) + 1;
}

/// Returns the grid of real coefficients, of `channels`.
[[nodiscard]] constexpr GridShape coefficient_grid(const SpectralShape& shape, std::int64_t channels) {
  return {.extent = {basis_size(shape.modes[0]), basis_size(shape.modes[1]), basis_size(shape.modes[2])},
          .channels = channels};
}

}  // namespace mylos

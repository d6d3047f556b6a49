// SpectralModes: how the complex coefficient of a mode follows from real ones, and the field from it.
//
// Along an axis, real coefficients are averages of a field times cos of the wave numbers 0 to m/2, then times
// sin of 1 to m/2. The product of the axes' e^(-i k p) = cos - i sin, for the kept wave numbers of a mode,
// is a sum of up to 2^d of their products, with factors 1, -1, i and -i: a small matrix of constants
// (kernels/spectral/spectral_shape.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/kernels/spectral/spectral_shape.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/onnx/onnx_boundary.hpp"

namespace mylos {

class SpectralModes {
 public:
  /// `axes`: of the grid, its last ones.
  SpectralModes(const SpectralShape& shape, std::size_t axes) : shape_(shape), axes_(axes) {}

  [[nodiscard]] const SpectralShape& shape() const { return shape_; }
  [[nodiscard]] std::size_t axes() const { return axes_; }
  /// Return a number of each axis: points, and real coefficients.
  [[nodiscard]] OnnxNumbers points() const;
  [[nodiscard]] OnnxNumbers basis() const;
  [[nodiscard]] std::int64_t basis_count() const;
  [[nodiscard]] std::int64_t count() const { return mode_count(shape_); }

  /// Returns [real coefficients, 2 modes]: the real parts of all modes, then the imaginary parts.
  [[nodiscard]] std::vector<float> to_modes() const;
  /// Returns [2 modes, real coefficients], with the factors w of conjugate modes.
  [[nodiscard]] std::vector<float> from_modes() const;
  /// Return what the matrix depends on, as text: equal keys, equal matrices.
  [[nodiscard]] std::string key_of_to_modes() const;
  [[nodiscard]] std::string key_of_from_modes() const;
  /// Returns the bytes of either matrix, at most 2^60. They grow with the square of the
  /// number of modes.
  [[nodiscard]] std::int64_t matrix_bytes() const;

 private:
  struct Term;
  [[nodiscard]] std::vector<Term> terms_of(std::int64_t mode) const;
  [[nodiscard]] float weight_of(std::int64_t mode) const;

  SpectralShape shape_;
  std::size_t axes_;
};

/// The matrices of modes in the graph of a chain, of which equal ones are shared.
struct ModeMatrices {
  std::int64_t bytes = 0;
  std::int64_t largest = 0;  // bytes of one
  std::string layer;         // the first that has the largest
  std::int64_t modes = 0;    // of this layer
};

/// Makes none of them. Numbers of bytes end at 2^60.
[[nodiscard]] ModeMatrices mode_matrices(const Chain& chain);

}  // namespace mylos

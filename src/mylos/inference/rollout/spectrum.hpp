// FieldSpectrum: the energy of a field by wavenumber.
//
// E(k) is the sum of |U_n|^2 / N^2 over the modes n with |n| nearest to k, U the discrete Fourier transform
// of the N points and n the number of periods along each axis (negative above half of the axis). The sum of
// all E(k) is the mean square of the field (Parseval). The grid is taken as periodic and equidistant.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "mylos/inference/rollout/fourier.hpp"

namespace mylos {

class FieldSpectrum {
 public:
  /// `extents`: the points of the grid along each axis, 1 to 3 of them, each at least 1.
  explicit FieldSpectrum(std::vector<std::int64_t> extents);

  /// The number of wavenumbers: k = 0 ... wavenumbers() - 1.
  [[nodiscard]] std::int64_t wavenumbers() const { return wavenumbers_; }
  /// Adds the energy of one channel of a field [points, channels] to `energy` [wavenumbers()].
  void add(std::span<const float> field, std::int64_t channels, std::int64_t channel,
           std::span<double> energy);

  /// Returns the number of wavenumbers of a grid.
  [[nodiscard]] static std::int64_t wavenumbers_of(std::span<const std::int64_t> extents);
  /// Returns the bytes of such an object.
  [[nodiscard]] static std::size_t memory_bytes(std::span<const std::int64_t> extents);

 private:
  std::vector<std::int64_t> extents_;
  std::vector<FourierTransform> axes_;
  std::vector<std::complex<double>> values_;
  std::vector<std::int32_t> wavenumber_;  // of each mode
  std::int64_t wavenumbers_ = 0;
};

}  // namespace mylos

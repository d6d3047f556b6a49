// FourierTransform: the discrete Fourier transform of lines of any length.
//
//   X_k = sum over j of x_j exp(-2 pi i j k / n),  k = 0 ... n - 1, in double.
//
// By the divisors of n (Cooley and Tukey, Math. Comp. 19, 1965): n times the sum of its prime factors
// operations. It is for measuring fields, not for training.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace mylos {

class FourierTransform {
 public:
  explicit FourierTransform(std::int64_t length);

  [[nodiscard]] std::int64_t length() const { return static_cast<std::int64_t>(roots_.size()); }
  /// Transforms the line values[0], values[stride], ... in place.
  void apply(std::complex<double>* values, std::int64_t stride);

 private:
  /// Writes the transform of `count` values, `stride` apart, to `to`, which must not overlap them.
  void transform(const std::complex<double>* values, std::int64_t stride, std::int64_t count,
                 std::complex<double>* to);

  std::vector<std::complex<double>> roots_;   // exp(-2 pi i j / n)
  std::vector<std::complex<double>> line_;    // of the result
  std::vector<std::complex<double>> factor_;  // one value of each part
};

/// Transforms an array of these extents, row-major, along all axes.
void transform_field(std::span<const std::int64_t> extents, std::span<FourierTransform> axes,
                     std::span<std::complex<double>> values);

}  // namespace mylos

// FieldDerivative: derivatives of fields [points, channels] along the axes of their grid, and their
// transposes.
//
// An axis of n points is one unit long, so that its points lie h = 1 / n apart. With i the index along it:
//
//   differences   (x[i+1] - x[i-1]) / 2h, periodic
//   one_sided     the same inside; at the ends (-11 x[0] + 18 x[1] - 9 x[2] + 2 x[3]) / 6h and its mirror
//                 image, of third order; n >= 4
//   spectral      sum over j of c[(i - j) mod n] x[j], the derivative of the trigonometric polynomial through
//                 all points, in which the highest wave number of an even n has the derivative 0:
//                 c[0] = 0, c[k] = pi (-1)^k cot(pi k / n), for odd n pi (-1)^k / sin(pi k / n)
//                 (Trefethen, "Spectral Methods in MATLAB", chapter 3)
#pragma once

#include <cstdint>

#include "mylos/kernels/derivative.hpp"
#include "mylos/kernels/launch/divisor.hpp"
#include "mylos/kernels/pointwise/fields/field_weights.hpp"

namespace mylos {

/// The points that one_sided reads at an end.
inline constexpr std::int64_t one_sided_points = 4;

/// One axis of a grid.
struct DerivativeAxis {
  std::int64_t extent = 1;       // n
  std::int64_t stride = 1;       // points from one point to the next
  FieldWeights weights = {};     // of the squared derivatives
  const float* table = nullptr;  // [2 n - 1] spectral: c[(k - (n - 1)) mod n] at k
};

struct FieldDerivatives {
  static constexpr int max_axes = 3;

  Derivative derivative = Derivative::differences;
  int axes = 0;
  DerivativeAxis axis[max_axes] = {};
};

/// The derivatives of kind `D` along one axis; kernels use it. `x` returns the value at a point.
template <Derivative D>
class AxisSlope {
 public:
  AxisSlope() : AxisSlope(DerivativeAxis{}) {}
  explicit AxisSlope(const DerivativeAxis& axis)
      : line_(axis.stride),
        period_(axis.extent),
        extent_(axis.extent),
        stride_(axis.stride),
        factor_(static_cast<float>(axis.extent) / (D == Derivative::one_sided ? 6.0f : 2.0f)),
        table_(axis.table) {}

  /// Returns the derivative of x at a point.
  template <class X>
  KOKKOS_FORCEINLINE_FUNCTION float of(const X& x, std::int64_t point) const {
    const std::int64_t i = index_of(point);
    if constexpr (D == Derivative::spectral) {
      return circulant(x, point, i);
    } else if constexpr (D == Derivative::differences) {
      return factor_ * (x(after(point, i)) - x(before(point, i)));
    } else {
      if (i == 0) return factor_ * end(x, point, stride_);
      if (i == extent_ - 1) return -factor_ * end(x, point, -stride_);
      return 3.0f * factor_ * (x(point + stride_) - x(point - stride_));
    }
  }

  /// Returns the transposed derivative of y at a point: the sum over all points q of y(q) times the
  /// derivative at q with respect to x at `point`.
  template <class Y>
  KOKKOS_FORCEINLINE_FUNCTION float transposed(const Y& y, std::int64_t point) const {
    const std::int64_t i = index_of(point);
    if constexpr (D == Derivative::spectral) {
      return -circulant(y, point, i);
    } else if constexpr (D == Derivative::differences) {
      return factor_ * (y(before(point, i)) - y(after(point, i)));
    } else {
      float sum = 0;
      if (i >= 2) sum += 3.0f * y(point - stride_);           // of an inner point below
      if (i + 2 < extent_) sum -= 3.0f * y(point + stride_);  // of one above
      const std::int64_t last = extent_ - 1;
      if (i < one_sided_points) sum += coefficient(i) * y(point - i * stride_);
      if (last - i < one_sided_points) sum -= coefficient(last - i) * y(point + (last - i) * stride_);
      return factor_ * sum;
    }
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t index_of(std::int64_t point) const {
    const std::int64_t line = line_.quotient(point);
    return line - period_.quotient(line) * extent_;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t after(std::int64_t point, std::int64_t i) const {
    return i + 1 == extent_ ? point - i * stride_ : point + stride_;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t before(std::int64_t point, std::int64_t i) const {
    return i == 0 ? point + (extent_ - 1) * stride_ : point - stride_;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static float coefficient(std::int64_t k) {
    return k == 0 ? -11.0f : k == 1 ? 18.0f : k == 2 ? -9.0f : 2.0f;
  }
  template <class X>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static float end(const X& x, std::int64_t point,
                                                             std::int64_t step) {
    return coefficient(0) * x(point) + coefficient(1) * x(point + step) +
           coefficient(2) * x(point + 2 * step) + coefficient(3) * x(point + 3 * step);
  }
  template <class X>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float circulant(const X& x, std::int64_t point,
                                                            std::int64_t i) const {
    const std::int64_t first = point - i * stride_;
    const float* const c = table_ + (extent_ - 1 - i);  // c[-k] = -c[k]: the table is read forwards
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < extent_; ++j) sum += c[j] * x(first + j * stride_);
    return -sum;
  }

  Divisor line_;
  Divisor period_;
  std::int64_t extent_;
  std::int64_t stride_;
  float factor_;
  const float* table_;
};

}  // namespace mylos

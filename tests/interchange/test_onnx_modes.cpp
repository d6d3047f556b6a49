#include "mylos/model/layers/spectral/spectral_modes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos::onnx_modes_test {

using Complex = std::complex<double>;

const SpectralShape shapes[] = {{.input = {.extent = {1, 1, 7}}, .modes = {1, 1, 4}},
                                {.input = {.extent = {1, 1, 8}}, .modes = {1, 1, 8}},
                                {.input = {.extent = {1, 6, 5}}, .modes = {1, 4, 5}},
                                {.input = {.extent = {1, 4, 6}}, .modes = {1, 3, 6}},
                                {.input = {.extent = {4, 3, 6}}, .modes = {4, 2, 5}},
                                {.input = {.extent = {5, 4, 4}}, .modes = {3, 4, 4}}};

/// Returns the grid's axes of a shape: those with more than one point.
std::size_t axes_of(const SpectralShape& shape) {
  std::size_t axes = 0;
  for (const std::int64_t extent : shape.input.extent) axes += extent > 1 ? 1 : 0;
  return axes;
}

/// Returns the coordinates of an index along each of three axes with these sizes.
Extents coordinates(std::int64_t index, const Extents& sizes) {
  return {index / (sizes[1] * sizes[2]), index / sizes[2] % sizes[1], index % sizes[2]};
}

Extents basis_of(const SpectralShape& shape) {
  return {basis_size(shape.modes[0]), basis_size(shape.modes[1]), basis_size(shape.modes[2])};
}

/// e^(i sign 2π k·p/n) of a mode and a point.
Complex wave(const SpectralShape& shape, std::int64_t mode, std::int64_t point, double sign) {
  Extents k = coordinates(mode, kept_wave_numbers(shape));
  const Extents p = coordinates(point, shape.input.extent);
  k[0] -= shape.modes[0] / 2;
  k[1] -= shape.modes[1] / 2;
  double turns = 0;
  for (std::size_t axis = 0; axis < 3; ++axis)
    turns += static_cast<double>(k[axis] * p[axis]) / static_cast<double>(shape.input.extent[axis]);
  return std::polar(1.0, sign * 2 * std::numbers::pi * turns);
}

/// The functions of the real coefficients: products of the three axes' matrix elements.
class Basis {
 public:
  Basis(const SpectralShape& shape, bool is_analysis) : shape_(shape), is_analysis_(is_analysis) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t points = shape.input.extent[axis];
      matrices_[axis] = is_analysis ? analysis_matrix(points, shape.modes[axis])
                                    : synthesis_matrix(points, shape.modes[axis]);
    }
  }

  [[nodiscard]] double at(std::int64_t basis, std::int64_t point) const {
    const Extents b = coordinates(basis, basis_of(shape_));
    const Extents p = coordinates(point, shape_.input.extent);
    double product = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t element = is_analysis_ ? b[axis] * shape_.input.extent[axis] + p[axis]
                                                : p[axis] * basis_size(shape_.modes[axis]) + b[axis];
      product *= static_cast<double>(matrices_[axis][static_cast<std::size_t>(element)]);
    }
    return product;
  }

 private:
  const SpectralShape& shape_;
  bool is_analysis_;
  std::vector<float> matrices_[3];
};

TEST(OnnxModes, CoefficientsAreThoseOfTheDefinition) {
  for (const SpectralShape& shape : shapes) {
    const SpectralModes modes(shape, axes_of(shape));
    const std::vector<float> matrix = modes.to_modes();
    const Basis analysis(shape, true);
    const std::int64_t points = shape.input.points();
    for (std::int64_t mode = 0; mode < modes.count(); ++mode) {
      for (std::int64_t point = 0; point < points; ++point) {
        Complex found = 0;
        for (std::int64_t basis = 0; basis < modes.basis_count(); ++basis) {
          const auto row = static_cast<std::size_t>(basis * 2 * modes.count() + mode);
          const Complex factor(static_cast<double>(matrix[row]),
                               static_cast<double>(matrix[row + static_cast<std::size_t>(modes.count())]));
          found += factor * analysis.at(basis, point);
        }
        const Complex expected = wave(shape, mode, point, -1) / static_cast<double>(points);
        EXPECT_LT(std::abs(found - expected), 1e-6) << describe(shape.input) << ", mode " << mode;
      }
    }
  }
}

TEST(OnnxModes, TheFieldOfAModeIsThatOfTheDefinition) {
  for (const SpectralShape& shape : shapes) {
    const SpectralModes modes(shape, axes_of(shape));
    const std::vector<float> matrix = modes.from_modes();
    const Basis synthesis(shape, false);
    const std::int64_t last = kept_wave_numbers(shape)[2];
    for (std::int64_t mode = 0; mode < modes.count(); ++mode) {
      const std::int64_t k = mode % last;
      const double weight = k == 0 || 2 * k == shape.input.extent[2] ? 1 : 2;
      for (std::int64_t point = 0; point < shape.input.points(); ++point) {
        double real = 0, imaginary = 0;  // of the coefficients 1 and i
        for (std::int64_t basis = 0; basis < modes.basis_count(); ++basis) {
          const double value = synthesis.at(basis, point);
          real += value *
                  static_cast<double>(matrix[static_cast<std::size_t>(mode * modes.basis_count() + basis)]);
          imaginary +=
              value *
              static_cast<double>(
                  matrix[static_cast<std::size_t>((modes.count() + mode) * modes.basis_count() + basis)]);
        }
        const Complex of = wave(shape, mode, point, 1);
        EXPECT_NEAR(real, weight * of.real(), 1e-6) << describe(shape.input) << ", mode " << mode;
        EXPECT_NEAR(imaginary, -weight * of.imag(), 1e-6) << describe(shape.input) << ", mode " << mode;
      }
    }
  }
}

}  // namespace mylos::onnx_modes_test

// Spectral convolutions in double, by the definition of neuraloperator's SpectralConv: a real transform, the
// kept coefficients times their matrices among zeros, the inverse transform along the leading axes, and the
// real one along the last, which reads no imaginary part of the wave numbers 0 and n/2. Sums over all points,
// without symmetries.
#pragma once

#include <complex>
#include <numbers>
#include <vector>

#include "mylos/kernels/spectral/spectral_shape.hpp"

namespace mylos::test {

class ReferenceSpectral {
 public:
  using Numbers = std::vector<double>;
  using Complex = std::complex<double>;

  SpectralShape shape;
  std::int64_t samples = 1;
  Numbers x, weight, bias;  // bias: empty if there is none

  /// y [samples, points, outputs].
  [[nodiscard]] Numbers forward() const {
    Numbers y(static_cast<std::size_t>(samples * points() * shape.outputs));
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const std::vector<Complex> mixed = mix(coefficients(sample));
      for (std::int64_t p = 0; p < points(); ++p) {
        for (std::int64_t o = 0; o < shape.outputs; ++o) {
          const double of_bias = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
          y[static_cast<std::size_t>((sample * points() + p) * shape.outputs + o)] =
              of_bias + field(mixed, p, o);
        }
      }
    }
    return y;
  }

  /// The largest value that rounding errors are relative to: the sum of all |terms| of any y.
  [[nodiscard]] double magnitude() const {
    double largest = 0;
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      Numbers means(static_cast<std::size_t>(shape.input.channels));
      for (std::int64_t i = 0; i < points() * shape.input.channels; ++i) {
        means[static_cast<std::size_t>(i % shape.input.channels)] +=
            std::abs(x[static_cast<std::size_t>(sample * points() * shape.input.channels + i)]) /
            static_cast<double>(points());
      }
      Numbers sums(static_cast<std::size_t>(shape.outputs));
      for (std::size_t i = 0; i < weight.size(); ++i) {
        const std::size_t width = 2 * static_cast<std::size_t>(shape.outputs);
        const std::size_t input = i / width % means.size();
        sums[i % static_cast<std::size_t>(shape.outputs)] += 2 * std::abs(weight[i]) * means[input];
      }
      for (std::size_t o = 0; o < sums.size(); ++o)
        largest = std::max(largest, sums[o] + (bias.empty() ? 0 : std::abs(bias[o])));
    }
    return largest;
  }

 private:
  [[nodiscard]] std::int64_t points() const { return shape.input.points(); }

  /// The wave numbers of a mode's index along each axis.
  [[nodiscard]] Extents wave_of(std::int64_t mode) const {
    const std::int64_t width = shape.modes[2] / 2 + 1;
    const std::int64_t height = shape.modes[1];
    return {mode / (width * height) - shape.modes[0] / 2, mode / width % height - shape.modes[1] / 2,
            mode % width};
  }
  [[nodiscard]] Extents point_of(std::int64_t index) const {
    const Extents& n = shape.input.extent;
    return {index / (n[1] * n[2]), index / n[2] % n[1], index % n[2]};
  }
  [[nodiscard]] Complex turn(const Extents& wave, const Extents& point, double sign, int axes) const {
    double turns = 0;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(axes); ++axis) {
      const std::int64_t n = shape.input.extent[axis];
      turns += static_cast<double>(wave[axis] * point[axis] % n) / static_cast<double>(n);
    }
    return std::polar(1.0, sign * 2 * std::numbers::pi * turns);
  }

  /// [modes][inputs]
  [[nodiscard]] std::vector<Complex> coefficients(std::int64_t sample) const {
    const std::int64_t channels = shape.input.channels;
    std::vector<Complex> all(static_cast<std::size_t>(mode_count(shape) * channels));
    for (std::int64_t mode = 0; mode < mode_count(shape); ++mode) {
      for (std::int64_t p = 0; p < points(); ++p) {
        const Complex factor = turn(wave_of(mode), point_of(p), -1, 3) / static_cast<double>(points());
        for (std::int64_t c = 0; c < channels; ++c) {
          all[static_cast<std::size_t>(mode * channels + c)] +=
              factor * x[static_cast<std::size_t>((sample * points() + p) * channels + c)];
        }
      }
    }
    return all;
  }
  /// [modes][outputs]
  [[nodiscard]] std::vector<Complex> mix(const std::vector<Complex>& of_x) const {
    const std::int64_t inputs = shape.input.channels;
    const std::int64_t outputs = shape.outputs;
    std::vector<Complex> all(static_cast<std::size_t>(mode_count(shape) * outputs));
    for (std::int64_t mode = 0; mode < mode_count(shape); ++mode) {
      for (std::int64_t c = 0; c < inputs; ++c) {
        const double* const row = weight.data() + (mode * inputs + c) * 2 * outputs;
        for (std::int64_t o = 0; o < outputs; ++o) {
          all[static_cast<std::size_t>(mode * outputs + o)] +=
              of_x[static_cast<std::size_t>(mode * inputs + c)] * Complex(row[o], row[outputs + o]);
        }
      }
    }
    return all;
  }
  [[nodiscard]] double field(const std::vector<Complex>& mixed, std::int64_t point,
                             std::int64_t output) const {
    const Extents at = point_of(point);
    const std::int64_t n = shape.input.extent[2];
    std::vector<Complex> line(static_cast<std::size_t>(n / 2 + 1));  // after the leading axes
    for (std::int64_t mode = 0; mode < mode_count(shape); ++mode) {
      const Extents wave = wave_of(mode);
      line[static_cast<std::size_t>(wave[2])] +=
          mixed[static_cast<std::size_t>(mode * shape.outputs + output)] * turn(wave, at, 1, 2);
    }
    double y = line[0].real();
    for (std::int64_t k = 1; k <= n / 2; ++k) {
      const Complex coefficient = line[static_cast<std::size_t>(k)];
      if (2 * k == n) {
        y += coefficient.real() * (at[2] % 2 == 0 ? 1 : -1);
      } else {
        y += 2 * (coefficient * turn({0, 0, k}, {0, 0, at[2]}, 1, 3)).real();
      }
    }
    return y;
  }
};

}  // namespace mylos::test

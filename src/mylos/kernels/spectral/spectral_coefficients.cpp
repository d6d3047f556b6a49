#include "mylos/kernels/spectral/spectral_coefficients.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/grid/grid_points.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

/// The wave numbers of modes and of real coefficients. All members are values that kernels capture.
struct WaveNumbers {
  explicit WaveNumbers(const SpectralShape& shape)
      : half{{shape.modes[0] / 2, shape.modes[1] / 2, shape.modes[2] / 2}},
        ends{{(shape.modes[0] + 1) / 2, (shape.modes[1] + 1) / 2, shape.modes[2] / 2 + 1}},
        width(whole_grid(shape).extent[2]),
        modes(kept_wave_numbers(shape)),
        coefficients(coefficient_grid(shape, 1).extent) {}

  /// Returns the wave number of a mode's index along an axis.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t of_mode(const Triple& mode, int axis) const {
    return axis == 2 ? mode[axis] : mode[axis] - half[axis];
  }
  /// Returns the number of points of the adjoint's sum that a mode stands for: itself and its conjugate.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float weight(std::int64_t along_width) const {
    return along_width == 0 || 2 * along_width == width ? 1.0f : 2.0f;
  }

  Triple half;  // the largest wave number of each axis
  Triple ends;  // the first positive wave number that is not kept
  std::int64_t width;
  Box modes;
  Box coefficients;
};

/// Returns the sign of (-i)^sines, and for the adjoint of i^sines, in front of the real or imaginary part.
KOKKOS_FORCEINLINE_FUNCTION float sign_of(int sines) {
  return sines == 0 || sines == 3 ? 1.0f : -1.0f;
}

template <class T>
void gather_parts(const Execution& exec, const SpectralShape& shape, std::int64_t samples,
                  std::int64_t channels, const float* q, ModeRows rows, T* to) {
  const WaveNumbers waves(shape);
  const Divisor mode_of(samples);
  const bool mirrors = rows == ModeRows::mirror;
  for_each_tile(
      exec, "spectral_modes", mode_count(shape) * samples, channels,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const std::int64_t mode = mode_of.quotient(row);
        const std::int64_t sample = row - mode * samples;
        const Triple at = waves.modes.point(mode);
        const float* const from = q + sample * waves.coefficients.points() * channels + first;
        float part[2][tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { part[0][i] = part[1][i] = 0.0f; });
        for (int product = 0; product < 8; ++product) {
          std::int64_t index[3];
          int sines = 0;
          float sign = 1.0f;
          bool exists = true;
          for (int axis = 0; axis < 3; ++axis) {
            const std::int64_t k = waves.of_mode(at, axis);
            index[axis] = k < 0 ? -k : k;
            if ((product >> axis & 1) == 0) continue;
            exists = exists && k != 0;
            index[axis] += waves.half[axis];
            sines += 1;
            sign = k < 0 ? -sign : sign;
          }
          if (!exists) continue;
          sign *= sign_of(sines);
          const float* const value = from + waves.coefficients.index(index[0], index[1], index[2]) * channels;
          float* const sum = part[sines & 1];
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += sign * value[i]; });
        }
        if (!mirrors) {
          T* const real = to + (2 * mode * samples + sample) * channels + first;
          write_tile(part[0], count, real);
          write_tile(part[1], count, real + samples * channels);
          return;
        }
        T* const above = to + (2 * mode * samples + sample) * 2 * channels + first;
        T* const below = above + samples * 2 * channels;
        write_tile(part[0], count, above);
        write_tile(part[1], count, above + channels);
        write_tile(part[1], count, below);
        for_each_in_tile(count, [&](std::int64_t i) { part[0][i] = -part[0][i]; });
        write_tile(part[0], count, below + channels);
      });
}

template <class T, class Bias>
void scatter(const Execution& exec, const SpectralShape& shape, std::int64_t samples, std::int64_t channels,
             const float* mixed, MixedRows rows, const Bias* bias, T* q) {
  const WaveNumbers waves(shape);
  const std::int64_t coefficients = coefficient_grid(shape, 1).points();
  const Divisor sample_of(coefficients);
  const bool in_blocks = rows == MixedRows::blocks;
  const std::int64_t width = in_blocks ? 2 * channels : channels;
  for_each_tile(
      exec, "spectral_real", samples * coefficients, channels,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const std::int64_t sample = sample_of.quotient(row);
        const Triple at = waves.coefficients.point(row - sample * coefficients);
        std::int64_t k[3];
        bool is_sine[3];
        int sines = 0;
        for (int axis = 0; axis < 3; ++axis) {
          is_sine[axis] = at[axis] > waves.half[axis];
          k[axis] = is_sine[axis] ? at[axis] - waves.half[axis] : at[axis];
          sines += is_sine[axis] ? 1 : 0;
        }
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        if (bias != nullptr && k[0] + k[1] + k[2] == 0)
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = to_float(bias[first + i]); });
        for (int signs = 0; signs < 4; ++signs) {  // of the wave numbers along depth and height
          std::int64_t index[3] = {0, 0, k[2]};
          float factor = waves.weight(k[2]) * sign_of(sines);
          bool exists = true;
          for (int axis = 0; axis < 2; ++axis) {
            const bool is_negative = (signs >> axis & 1) != 0;
            exists = exists && (is_negative ? k[axis] > 0 : k[axis] < waves.ends[axis]);
            index[axis] = waves.half[axis] + (is_negative ? -k[axis] : k[axis]);
            factor = is_negative && is_sine[axis] ? -factor : factor;
          }
          if (!exists) continue;
          const std::int64_t mode = waves.modes.index(index[0], index[1], index[2]);
          const float* const real = mixed + (2 * mode * samples + sample) * width + first;
          const float* const imaginary = real + samples * width;
          const bool is_imaginary = (sines & 1) != 0;
          if (!in_blocks) {
            const float* const value = is_imaginary ? imaginary : real;
            for_each_in_tile(count, [&](std::int64_t i) { sum[i] += factor * value[i]; });
          } else if (is_imaginary) {
            for_each_in_tile(count,
                             [&](std::int64_t i) { sum[i] += factor * (real[channels + i] + imaginary[i]); });
          } else {
            for_each_in_tile(count,
                             [&](std::int64_t i) { sum[i] += factor * (real[i] - imaginary[channels + i]); });
          }
        }
        write_tile(sum, count, q + row * channels + first);
      });
}

template <class T>
void scale(const Execution& exec, const SpectralShape& shape, const float* products, bool accumulate,
           std::int64_t columns, T* gradient) {
  const WaveNumbers waves(shape);
  const auto points = static_cast<float>(whole_grid(shape).points());
  for_each_tile(
      exec, "spectral_dw", mode_count(shape), columns,
      KOKKOS_LAMBDA(std::int64_t mode, std::int64_t first, std::int64_t count) {
        const float factor = points * waves.weight(waves.modes.point(mode)[2]);
        const float* const from = products + mode * columns + first;
        T* const to = gradient + mode * columns + first;
        float value[tile_width];
        if (accumulate) {
          float buffer[tile_width];
          const auto old = tile_values(to, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = old[i] + factor * from[i]; });
        } else {
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = factor * from[i]; });
        }
        write_tile(value, count, to);
      });
}

template <class T>
void sum_means(const Execution& exec, const SpectralShape& shape, std::int64_t samples, const float* q,
               bool accumulate, std::int64_t channels, T* gradient) {
  const std::int64_t stride = coefficient_grid(shape, channels).columns();
  const auto points = static_cast<float>(whole_grid(shape).points());
  for_each_element(
      exec, "spectral_db", channels, KOKKOS_LAMBDA(std::int64_t channel) {
        float sum = 0.0f;
        for (std::int64_t sample = 0; sample < samples; ++sample) sum += q[sample * stride + channel];
        const float old = accumulate ? to_float(gradient[channel]) : 0.0f;
        gradient[channel] = from_float<T>(old + points * sum);
      });
}

}  // namespace

void gather_modes(const Execution& exec, const SpectralShape& shape, std::int64_t samples,
                  std::int64_t channels, const float* q, ModeRows rows, const Tensor& modes) {
  dispatch(modes.type(), [&]<class T>(TypeTag<T>) {
    gather_parts(exec, shape, samples, channels, q, rows, modes.as<T>());
  });
}

void scatter_modes(const Execution& exec, const SpectralShape& shape, std::int64_t samples,
                   std::int64_t channels, const float* mixed, MixedRows rows, const ConstTensor& bias,
                   const Tensor& q) {
  dispatch(q.type(), [&]<class T>(TypeTag<T>) {
    scatter(exec, shape, samples, channels, mixed, rows, bias.empty() ? nullptr : bias.as<T>(), q.as<T>());
  });
}

void scale_weight_gradient(const Execution& exec, const SpectralShape& shape, const float* products,
                           bool accumulate, const Tensor& gradient) {
  dispatch(gradient.type(), [&]<class T>(TypeTag<T>) {
    scale(exec, shape, products, accumulate, gradient.columns(), gradient.as<T>());
  });
}

void bias_gradient(const Execution& exec, const SpectralShape& shape, std::int64_t samples, const float* q,
                   bool accumulate, const Tensor& gradient) {
  dispatch(gradient.type(), [&]<class T>(TypeTag<T>) {
    sum_means(exec, shape, samples, q, accumulate, gradient.columns(), gradient.as<T>());
  });
}

}  // namespace mylos

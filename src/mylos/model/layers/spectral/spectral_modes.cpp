#include "mylos/model/layers/spectral/spectral_modes.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "mylos/kernels/spectral/spectral.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_matrix_bytes = std::int64_t{1} << 60;

}  // namespace

/// A product of cos and sin of the axes, of a mode.
struct SpectralModes::Term {
  std::int64_t basis = 0;  // index of the real coefficient
  int sines = 0;           // how many of the axes' factors are sin
  float sign = 1;          // -1: of an odd number of them the wave number is negative
};

OnnxNumbers SpectralModes::points() const {
  return last_axes(shape_.input.extent, axes_);
}

OnnxNumbers SpectralModes::basis() const {
  OnnxNumbers sizes = last_axes(shape_.modes, axes_);
  for (std::int64_t& size : sizes) size = basis_size(size);
  return sizes;
}

std::int64_t SpectralModes::basis_count() const {
  std::int64_t count = 1;
  for (const std::int64_t size : basis()) count *= size;
  return count;
}

std::vector<SpectralModes::Term> SpectralModes::terms_of(std::int64_t mode) const {
  const Extents kept = kept_wave_numbers(shape_);
  const std::int64_t index[3] = {mode / (kept[1] * kept[2]), mode / kept[2] % kept[1], mode % kept[2]};
  std::vector<Term> terms(1);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t modes = shape_.modes[axis];
    const bool is_last = axis == 2;
    const std::int64_t wave = is_last ? index[axis] : index[axis] - modes / 2;
    std::vector<Term> longer;
    for (const Term& term : terms) {
      const std::int64_t outer = term.basis * basis_size(modes);
      longer.push_back({outer + std::abs(wave), term.sines, term.sign});
      if (wave == 0) continue;
      longer.push_back(
          {outer + modes / 2 + std::abs(wave), term.sines + 1, wave < 0 ? -term.sign : term.sign});
    }
    terms = std::move(longer);
  }
  return terms;
}

float SpectralModes::weight_of(std::int64_t mode) const {
  const std::int64_t wave = mode % kept_wave_numbers(shape_)[2];
  return wave == 0 || 2 * wave == shape_.input.extent[2] ? 1.0F : 2.0F;
}

std::vector<float> SpectralModes::to_modes() const {
  std::vector<float> matrix(static_cast<std::size_t>(basis_count() * 2 * count()), 0.0F);
  for (std::int64_t mode = 0; mode < count(); ++mode) {
    for (const Term& term : terms_of(mode)) {
      // (-i)^sines: 1, -i, -1, i
      const bool is_imaginary = term.sines % 2 == 1;
      const float factor = term.sines % 4 == 1 || term.sines % 4 == 2 ? -term.sign : term.sign;
      const std::int64_t column = mode + (is_imaginary ? count() : 0);
      matrix[static_cast<std::size_t>(term.basis * 2 * count() + column)] += factor;
    }
  }
  return matrix;
}

std::vector<float> SpectralModes::from_modes() const {
  std::vector<float> matrix(static_cast<std::size_t>(basis_count() * 2 * count()), 0.0F);
  for (std::int64_t mode = 0; mode < count(); ++mode) {
    for (const Term& term : terms_of(mode)) {
      // the real part of i^sines (re + i im): re, -im, -re, im
      const bool is_imaginary = term.sines % 2 == 1;
      const float factor = term.sines % 4 == 1 || term.sines % 4 == 2 ? -term.sign : term.sign;
      const std::int64_t row = mode + (is_imaginary ? count() : 0);
      matrix[static_cast<std::size_t>(row * basis_count() + term.basis)] += weight_of(mode) * factor;
    }
  }
  return matrix;
}

std::string SpectralModes::key_of_to_modes() const {
  return fmt::format("to_modes {}", fmt::join(shape_.modes, " "));
}

std::string SpectralModes::key_of_from_modes() const {
  // The weight of Nyquist's wave number is another one.
  return fmt::format("from_modes {} {}", fmt::join(shape_.modes, " "), shape_.input.extent[2]);
}

std::int64_t SpectralModes::matrix_bytes() const {
  const double bytes =
      2.0 * sizeof(float) * static_cast<double>(count()) * static_cast<double>(basis_count());
  return bytes < static_cast<double>(max_matrix_bytes) ? static_cast<std::int64_t>(bytes) : max_matrix_bytes;
}

ModeMatrices mode_matrices(const Chain& chain) {
  ModeMatrices found;
  std::set<std::string> known;
  for (const auto& block : chain.blocks) {
    if (block->spectral() == nullptr) continue;
    const SpectralModes modes(block->spectral()->shape(), 3);
    for (const std::string& key : {modes.key_of_to_modes(), modes.key_of_from_modes()}) {
      if (!known.insert(key).second) continue;
      found.bytes = std::min(found.bytes + modes.matrix_bytes(), max_matrix_bytes);
      if (modes.matrix_bytes() <= found.largest) continue;
      found.largest = modes.matrix_bytes();
      found.layer = block->signature().name;
      found.modes = modes.count();
    }
  }
  return found;
}

}  // namespace mylos

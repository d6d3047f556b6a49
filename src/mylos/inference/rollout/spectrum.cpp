#include "mylos/inference/rollout/spectrum.hpp"

#include <algorithm>
#include <cmath>

namespace mylos {
namespace {

std::size_t points_of(std::span<const std::int64_t> extents) {
  std::int64_t points = 1;
  for (const std::int64_t extent : extents) points *= extent;
  return static_cast<std::size_t>(points);
}

/// Returns the wavenumber of a mode. `mode`: its index in the transform, row-major.
std::int32_t wavenumber_of(std::span<const std::int64_t> extents, std::size_t mode) {
  double square = 0;
  auto rest = static_cast<std::int64_t>(mode);
  for (std::size_t axis = extents.size(); axis-- > 0; rest /= extents[axis]) {
    const std::int64_t index = rest % extents[axis];
    const auto periods = static_cast<double>(std::min(index, extents[axis] - index));
    square += periods * periods;
  }
  return static_cast<std::int32_t>(std::lround(std::sqrt(square)));
}

}  // namespace

FieldSpectrum::FieldSpectrum(std::vector<std::int64_t> extents)
    : extents_(std::move(extents)),
      values_(points_of(extents_)),
      wavenumber_(values_.size()),
      wavenumbers_(wavenumbers_of(extents_)) {
  for (const std::int64_t extent : extents_) axes_.emplace_back(extent);
  for (std::size_t i = 0; i < wavenumber_.size(); ++i) wavenumber_[i] = wavenumber_of(extents_, i);
}

void FieldSpectrum::add(std::span<const float> field, std::int64_t channels, std::int64_t channel,
                        std::span<double> energy) {
  const auto width = static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = static_cast<double>(field[i * width + static_cast<std::size_t>(channel)]);
  transform_field(extents_, axes_, values_);
  const auto points = static_cast<double>(values_.size());
  for (std::size_t i = 0; i < values_.size(); ++i)
    energy[static_cast<std::size_t>(wavenumber_[i])] += std::norm(values_[i]) / (points * points);
}

std::int64_t FieldSpectrum::wavenumbers_of(std::span<const std::int64_t> extents) {
  double square = 0;
  for (const std::int64_t extent : extents) square += static_cast<double>((extent / 2) * (extent / 2));
  return std::lround(std::sqrt(square)) + 1;
}

std::size_t FieldSpectrum::memory_bytes(std::span<const std::int64_t> extents) {
  std::size_t bytes = points_of(extents) * (sizeof(std::complex<double>) + sizeof(std::int32_t));
  for (const std::int64_t extent : extents)
    bytes += 3 * static_cast<std::size_t>(extent) * sizeof(std::complex<double>);
  return bytes;
}

}  // namespace mylos

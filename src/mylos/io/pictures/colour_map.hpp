// Viridis (Smith, van der Walt, Firing): numbers as colours of evenly rising lightness, which stay in order
// for readers who do not see hues, and in print without colours. As nine colours, interpolated, which are
// those of the report's page.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace mylos {

struct Colour {
  std::uint8_t red = 0;
  std::uint8_t green = 0;
  std::uint8_t blue = 0;
  bool operator==(const Colour&) const = default;
};

inline constexpr std::array<Colour, 9> viridis_colours{
    Colour{0x44, 0x01, 0x54}, Colour{0x47, 0x2d, 0x7b}, Colour{0x3b, 0x52, 0x8b},
    Colour{0x2c, 0x72, 0x8e}, Colour{0x21, 0x91, 0x8c}, Colour{0x28, 0xae, 0x80},
    Colour{0x5e, 0xc9, 0x62}, Colour{0xad, 0xdc, 0x30}, Colour{0xfd, 0xe7, 0x25}};

/// The colour of numbers that are not finite: a red that the map does not have.
inline constexpr Colour not_finite_colour{0xd0, 0x10, 0x30};

/// Returns the colour of `level`, from 0 (dark) to 1 (light); levels beyond have the colour of the end.
[[nodiscard]] inline Colour viridis(double level) {
  if (!std::isfinite(level)) return not_finite_colour;
  const double position = std::clamp(level, 0.0, 1.0) * static_cast<double>(viridis_colours.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(position), viridis_colours.size() - 2);
  const double part = position - static_cast<double>(low);
  const auto mixed = [part](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + part * (static_cast<double>(to) - from)));
  };
  const Colour& a = viridis_colours[low];
  const Colour& b = viridis_colours[low + 1];
  return {mixed(a.red, b.red), mixed(a.green, b.green), mixed(a.blue, b.blue)};
}

}  // namespace mylos

// GridShape: how a sample's columns are laid out where they are the points of a grid.
//
// A row of a matrix holds [depth, height, width, channels], packed, the channels of a point side by side. A
// plane is a grid of depth 1, a line one of depth and height 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace mylos {

/// Of depth, height and width, in this order.
using Extents = std::array<std::int64_t, 3>;

inline constexpr std::array<const char*, 3> axis_names = {"depth", "height", "width"};

struct GridShape {
  Extents extent = {1, 1, 1};
  std::int64_t channels = 1;

  /// Of one sample.
  [[nodiscard]] std::int64_t points() const { return extent[0] * extent[1] * extent[2]; }
  /// Columns of a sample's row.
  [[nodiscard]] std::int64_t columns() const { return points() * channels; }

  friend bool operator==(const GridShape&, const GridShape&) = default;
};

/// The most points of a grid, and the most channels: kernels count them in 31 bits.
inline constexpr std::int64_t max_points = (std::int64_t{1} << 30) - 1;

/// The most numbers of one tensor, 64 TiB of floats: bytes of all tensors of a network are then counted in 64
/// bits.
inline constexpr std::int64_t max_numbers = std::int64_t{1} << 44;

/// Throws Error (bad input), naming `what`, where an extent or the channels are less than 1 or too many.
void check_grid(const GridShape& grid, const char* what);

/// "16 x 32 x 32 points of 8 channels", for messages.
[[nodiscard]] std::string describe(const GridShape& grid);

/// a * b. Throws Error (bad input), naming `what`, where that is beyond 64 bits.
[[nodiscard]] std::int64_t checked_product(std::int64_t a, std::int64_t b, const char* what);

}  // namespace mylos

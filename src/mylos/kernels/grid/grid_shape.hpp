// GridShape: the layout of a sample's columns as the points of a grid.
//
// A row of a matrix contains [depth, height, width, channels], packed, with the channels of a point
// contiguous. A plane is a grid of depth 1; a line is a grid of depth and height 1.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace mylos {

/// The extents of depth, height and width, in this order.
using Extents = std::array<std::int64_t, 3>;

inline constexpr std::array<const char*, 3> axis_names = {"depth", "height", "width"};

struct GridShape {
  Extents extent = {1, 1, 1};
  std::int64_t channels = 1;

  /// Returns the points of one sample.
  [[nodiscard]] std::int64_t points() const { return extent[0] * extent[1] * extent[2]; }
  /// Returns the columns of a sample's row.
  [[nodiscard]] std::int64_t columns() const { return points() * channels; }

  friend bool operator==(const GridShape&, const GridShape&) = default;
};

/// The maximum number of points of a grid, and of channels: kernels count them in 31 bits.
inline constexpr std::int64_t max_points = (std::int64_t{1} << 30) - 1;

/// The maximum number of elements of a tensor, 64 TiB of floats. With it, 64 bits suffice to count the bytes
/// of all tensors of a network.
inline constexpr std::int64_t max_numbers = std::int64_t{1} << 44;

/// Throws Error (bad input) that names `what` if an extent or the number of channels is less than 1 or too
/// large.
void check_grid(const GridShape& grid, const char* what);

/// Returns "16 x 32 x 32 points of 8 channels", for messages.
[[nodiscard]] std::string describe(const GridShape& grid);

/// Returns a * b. Throws Error (bad input) that names `what` if the product exceeds 64 bits.
[[nodiscard]] std::int64_t checked_product(std::int64_t a, std::int64_t b, const char* what);

}  // namespace mylos

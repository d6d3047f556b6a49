// Rows whose elements a kernel reads more than once. ReadRow reads them from memory each time; HeldRow reads
// them once and holds them in registers. For device kernels only.
//
// In both, lane l has the tiles l, l + lanes, ..., in this order, so that sums over either are bitwise equal.
// Only the first `counted` elements belong to the row; padding is treated as minus infinity.
#pragma once

#include <utility>

#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

namespace device_tile {

/// Sets the elements of a tile from `counted` on to minus infinity. `counted` may be 0 or exceed the tile.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void clear_padding(Elements<T>& tile, std::int64_t counted) {
  if (counted >= tile_width) return;
  const T nothing = from_float<T>(-Kokkos::Experimental::infinity_v<float>);
  for_each_in_tile(tile_width, [&](std::int64_t i) {
    if (i >= counted) tile.element[i] = nothing;
  });
}

}  // namespace device_tile

/// Elements in memory, at most 2^30.
template <class T>
class ReadRow {
 public:
  KOKKOS_FORCEINLINE_FUNCTION ReadRow(const DeviceRow& row, const T* from, std::int64_t columns,
                                      std::int64_t counted)
      : from_(from),
        columns_(static_cast<std::int32_t>(columns)),
        counted_(static_cast<std::int32_t>(counted)),
        step_(static_cast<std::int32_t>(row.lanes() * tile_width)) {}

  /// Calls body(first_column, elements) for every tile of a lane of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    const auto start = static_cast<std::int32_t>(lane * tile_width);
    for (std::int32_t first = start; first < columns_; first += step_) {
      device_tile::Elements<T> tile = device_tile::load(from_ + first, width(first));
      device_tile::clear_padding(tile, counted_ - first);
      body(first, tile);
    }
  }
  /// Rounds the values of a tile and writes them to another row of this layout.
  KOKKOS_FORCEINLINE_FUNCTION void write(const float* values, std::int32_t first, T* to) const {
    device_tile::write(values, width(first), to + first);
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t width(std::int32_t first) const {
    return launch::smaller(tile_width, columns_ - first);
  }

  const T* from_;
  std::int32_t columns_;
  std::int32_t counted_;
  std::int32_t step_;
};

/// Elements in registers, of a row that for_each_held_row passes. The row consists of complete, aligned
/// tiles.
template <class T>
class HeldRow {
 public:
  /// They take 32 registers of the 64 that a lane has if 1024 lanes process a row.
  static constexpr int tiles_of_lane = 16 / sizeof(T);

  KOKKOS_FORCEINLINE_FUNCTION HeldRow(const DeviceRow& row, const T* from, std::int64_t columns,
                                      std::int64_t counted)
      : columns_(static_cast<std::int32_t>(columns)),
        step_(static_cast<std::int32_t>(row.lanes() * tile_width)) {
    row.for_each_lane([&](std::int64_t lane) {
      for_each_held_tile(lane, [&](int place, std::int32_t first) {
        Elements tile = *reinterpret_cast<const Elements*>(from + first);
        device_tile::clear_padding(tile, counted - first);
        tiles_[lane % lanes_here][place] = Kokkos::bit_cast<Words>(tile);
      });
    });
  }

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    for_each_held_tile(lane, [&](int place, std::int32_t first) {
      body(first, Kokkos::bit_cast<Elements>(tiles_[lane % lanes_here][place]));
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(const float* values, std::int32_t first, T* to) const {
    Elements tile;
    for_each_in_tile(tile_width, [&](std::int64_t i) { tile.element[i] = from_float<T>(values[i]); });
    *reinterpret_cast<Elements*>(to + first) = tile;
  }

 private:
  using Elements = device_tile::Elements<T>;

  /// The bits of a tile. Compilers would hold each 16-bit element in a separate register.
  struct Words {
    std::uint32_t word[sizeof(Elements) / sizeof(std::uint32_t)];
  };

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_held_tile(std::int64_t lane, const Body& body) const {
    const auto start = static_cast<std::int32_t>(lane * tile_width);
    unroll(std::make_integer_sequence<int, tiles_of_lane>{}, [&](int tile) {
      const std::int32_t first = start + tile * step_;
      if (first < columns_) body(tile, first);
    });
  }
  /// Unrolls the loop explicitly: only arrays with constant indices are held in registers.
  template <int... tiles, class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void unroll(std::integer_sequence<int, tiles...>, const Body& body) {
    (body(tiles), ...);
  }

  // A thread of an emulated device holds the elements of all its lanes.
  static constexpr int lanes_here = emulates_device ? launch::lanes_of_thread : 1;

  std::int32_t columns_;
  std::int32_t step_;
  Words tiles_[lanes_here][tiles_of_lane];
};

namespace launch {

/// Returns the number of threads of 32 lanes that hold a row: the minimum, or on an emulated device more, as
/// in threads_of_row.
template <class T>
std::int64_t threads_to_hold(std::int64_t columns) {
  constexpr std::int64_t max_of_thread = lanes_of_thread * HeldRow<T>::tiles_of_lane * tile_width;
  const std::int64_t min_threads = ceiling_quotient(columns, max_of_thread);
  return emulates_device && min_threads <= 8 ? threads_of_row(columns) : min_threads;
}

}  // namespace launch

/// Returns true if HeldRow can hold consecutive rows that start at `rows`. The registers suffice for 65,536
/// elements of 16 bits or half that number of floats.
template <class T>
bool can_be_held(const T* rows, std::int64_t columns) {
  constexpr std::int64_t max_threads = emulates_device ? 8 : 32;
  return columns > 0 && columns % tile_width == 0 && device_tile::is_aligned<tile_width>(rows) &&
         launch::threads_to_hold<T>(columns) <= max_threads;
}

/// Calls body(row_index, row) for every row, as for_each_row does. The body may hold one HeldRow<T> of
/// `columns` columns.
template <class T, class Body>
void for_each_held_row(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                       const Body& body) {
  static_assert(launch::captures_little<Body>);
  using Teams = Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<1024, 1>>;
  const auto threads = static_cast<int>(launch::threads_to_hold<T>(columns));
  Kokkos::parallel_for(
      name.string(), Teams(exec, static_cast<int>(rows), threads, launch::lanes_of_thread),
      KOKKOS_LAMBDA(const DeviceRow::Member& member) {
        body(static_cast<std::int64_t>(member.league_rank()), DeviceRow(member));
      });
}

}  // namespace mylos

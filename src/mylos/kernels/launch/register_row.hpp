// Rows whose elements a kernel reads more than once. ReadRow reads them from memory each time; RegisterRow
// reads them once and holds them in registers. For device kernels only.
//
// In both, each thread has a segment of the row, and its lanes take the segment's tiles in turn (RowTiles),
// so that sums over either are bitwise equal. Only the first `counted` elements belong to the row; padding is
// treated as minus infinity.
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

/// The columns of each lane's tiles. Within a lane their distance is a constant, so that a device computes
/// one address and not one for each tile.
class RowTiles {
 public:
  static constexpr std::int32_t step = launch::lanes_of_thread * static_cast<std::int32_t>(tile_width);

  /// `threads`: those that process a row.
  RowTiles(std::int64_t columns, std::int64_t threads)
      : columns_(static_cast<std::int32_t>(columns)),
        segment_(static_cast<std::int32_t>(launch::ceiling_quotient(columns, threads * step)) * step) {}

  /// Returns the first column of a lane's first tile.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t first(std::int64_t lane) const {
    constexpr auto width = static_cast<std::int32_t>(tile_width);
    return thread_of(lane) * segment_ + static_cast<std::int32_t>(lane) % launch::lanes_of_thread * width;
  }
  /// Returns the number of columns from there to the end of the thread's segment. Not positive if the lane
  /// has no tile.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t room(std::int64_t lane) const {
    const std::int32_t end = (thread_of(lane) + 1) * segment_;
    return (end < columns_ ? end : columns_) - first(lane);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int32_t columns() const { return columns_; }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION static std::int32_t thread_of(std::int64_t lane) {
    return static_cast<std::int32_t>(lane) / launch::lanes_of_thread;
  }

  std::int32_t columns_;
  std::int32_t segment_;
};

/// Elements in memory, at most 2^30.
template <class T>
class ReadRow {
 public:
  KOKKOS_FORCEINLINE_FUNCTION ReadRow(const RowTiles& tiles, const T* from, std::int64_t counted)
      : tiles_(tiles), from_(from), counted_(static_cast<std::int32_t>(counted)) {}

  /// Calls body(first_column, elements) for every tile of a lane of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    const std::int32_t start = tiles_.first(lane);
    const std::int32_t room = tiles_.room(lane);
    for (std::int32_t at = 0; at < room; at += RowTiles::step) body(start + at, tile(start + at));
  }
  /// Rounds the values of a tile and writes them to another row of this layout.
  KOKKOS_FORCEINLINE_FUNCTION void write(const float* values, std::int32_t first, T* to) const {
    device_tile::write(values, width(first), to + first);
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t width(std::int32_t first) const {
    return launch::smaller(tile_width, tiles_.columns() - first);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION device_tile::Elements<T> tile(std::int32_t first) const {
    device_tile::Elements<T> tile = device_tile::load(from_ + first, width(first));
    device_tile::clear_padding(tile, counted_ - first);
    return tile;
  }

  RowTiles tiles_;
  const T* from_;
  std::int32_t counted_;
};

/// Elements in registers, of a row that for_each_register_row passes. The row consists of complete, aligned
/// tiles.
template <class T>
class RegisterRow {
 public:
  /// They take at most 100 registers of the 128 that a lane has if 512 lanes process a row. So two blocks of
  /// 256 lanes, of which one computes while the other one reads, fit on an NVIDIA multiprocessor.
  static constexpr int tiles_of_lane = 400 / (tile_width * sizeof(T));

  KOKKOS_FORCEINLINE_FUNCTION RegisterRow(const DeviceRow& row, const RowTiles& tiles, const T* from,
                                          std::int64_t counted)
      : tiles_(tiles) {
    row.for_each_lane([&](std::int64_t lane) {
      Words* const words = words_[lane % lanes_here];
      const std::int32_t room = tiles_.room(lane);
      const T* const start = from + tiles_.first(lane);
      for_each_tile_index([&](int index) {
        if (index * step < room) words[index] = *reinterpret_cast<const Words*>(start + index * step);
      });
      const std::int32_t belong = static_cast<std::int32_t>(counted) - tiles_.first(lane);
      if (belong >= room) return;
      for_each_tile_index([&](int index) {
        if (index * step >= room) return;
        auto tile = Kokkos::bit_cast<Elements>(words[index]);
        device_tile::clear_padding(tile, belong - index * step);
        words[index] = Kokkos::bit_cast<Words>(tile);
      });
    });
  }

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    const std::int32_t start = tiles_.first(lane);
    const std::int32_t room = tiles_.room(lane);
    for_each_tile_index([&](int index) {
      if (index * step < room) body(start + index * step, tile(lane, index));
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
  struct alignas(Elements) Words {
    std::uint32_t word[sizeof(Elements) / sizeof(std::uint32_t)];
  };

  /// Calls body(index) for all tiles that a lane can hold, also for those beyond the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_tile_index(const Body& body) {
    unroll(std::make_integer_sequence<int, tiles_of_lane>{}, body);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Elements tile(std::int64_t lane, int index) const {
    return Kokkos::bit_cast<Elements>(words_[lane % lanes_here][index]);
  }
  /// Unrolls the loop explicitly: only arrays with constant indices are held in registers.
  template <int... tiles, class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void unroll(std::integer_sequence<int, tiles...>, const Body& body) {
    (body(tiles), ...);
  }

  // A thread of an emulated device holds the elements of all its lanes.
  static constexpr int lanes_here = emulates_device ? launch::lanes_of_thread : 1;

  static constexpr std::int32_t step = RowTiles::step;

  RowTiles tiles_;
  Words words_[lanes_here][tiles_of_lane];
};

namespace launch {

// A device has 128 registers for each of them, or more.
inline constexpr int max_lanes_to_hold = 512;

/// Returns the number of threads that hold a row: the minimum, or on an emulated device more, as
/// in threads_of_row.
template <class T>
std::int64_t threads_of_register_row(std::int64_t columns) {
  constexpr std::int64_t max_of_thread = lanes_of_thread * RegisterRow<T>::tiles_of_lane * tile_width;
  const std::int64_t min_threads = ceiling_quotient(columns, max_of_thread);
  return emulates_device && min_threads <= 8 ? threads_of_row(columns) : min_threads;
}

}  // namespace launch

/// Returns true if RegisterRow can hold consecutive rows that start at `rows`. The registers suffice for
/// 102,400 elements of 16 bits, or 49,152 floats.
template <class T>
bool fits_in_registers(const T* rows, std::int64_t columns) {
  constexpr std::int64_t max_threads =
      emulates_device ? 8 : launch::max_lanes_to_hold / launch::lanes_of_thread;
  return columns > 0 && columns % tile_width == 0 && device_tile::is_aligned<tile_width>(rows) &&
         launch::threads_of_register_row<T>(columns) <= max_threads;
}

/// Returns the tiles of the lanes that for_each_register_row passes.
template <class T>
RowTiles register_tiles(std::int64_t columns) {
  return {columns, launch::threads_of_register_row<T>(columns)};
}
/// Returns the tiles of the lanes that for_each_row passes.
inline RowTiles read_tiles(std::int64_t columns) {
  return {columns, launch::threads_of_row(columns)};
}

/// Calls body(row_index, row) for every row, as for_each_row does. The body may hold one RegisterRow<T> of
/// `columns` columns.
template <class T, class Body>
void for_each_register_row(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                           const Body& body) {
  static_assert(launch::captures_little<Body>);
  using Teams = Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<launch::max_lanes_to_hold, 1>>;
  const auto threads = static_cast<int>(launch::threads_of_register_row<T>(columns));
  Kokkos::parallel_for(
      name.string(), Teams(exec, static_cast<int>(rows), threads, launch::lanes_of_thread),
      KOKKOS_LAMBDA(const DeviceRow::Member& member) {
        body(static_cast<std::int64_t>(member.league_rank()), DeviceRow(member));
      });
}

}  // namespace mylos

// RegisterTiles: a short row that the lanes of one device thread hold in registers, so that it is read once.
// For device kernels only.
//
// Lane l has the tiles l, l + lanes, ..., in this order, as in LanesRow::for_each_tile: sums over either are
// bitwise equal.
#pragma once

#include "mylos/kernels/launch/lanes_row.hpp"
#include "mylos/kernels/launch/registers.hpp"

namespace mylos {

namespace launch {

// A thread of an emulated device holds the elements of all its lanes.
inline constexpr int lanes_here = emulates_device ? lanes_of_thread : 1;

}  // namespace launch

/// Reads the floats of a complete, aligned tile.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void read_whole_tile(const T* from, float* values) {
  TileBits<T>(from).read(values);
}

/// Rounds and writes a complete, aligned tile.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void write_whole_tile(const float* values, T* to) {
  TileBits<T>::rounded(values).write(to);
}

/// A row of at most `tiles` complete, aligned tiles for each lane.
template <class T, int tiles>
class RegisterTiles {
 public:
  /// Calls body(tile, first_column) for the tiles of a lane.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each(std::int64_t lane, std::int64_t columns,
                                                   const Body& body) {
    const auto start = static_cast<std::int32_t>(lane * tile_width);
    const auto end = static_cast<std::int32_t>(columns);
    unroll<tiles>([&](int tile) {
      const std::int32_t first =
          start + tile * static_cast<std::int32_t>(launch::lanes_of_thread * tile_width);
      if (first < end) body(tile, first);
    });
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(const LanesRow& row, const T* from, std::int64_t columns) {
    row.for_each_lane([&](std::int64_t lane) {
      for_each(lane, columns, [&](int tile, std::int32_t first) {
        bits_[lane % launch::lanes_here][tile] = TileBits<T>(from + first);
      });
    });
  }
  /// Writes the floats of a tile.
  KOKKOS_FORCEINLINE_FUNCTION void values(std::int64_t lane, int tile, float* values) const {
    bits_[lane % launch::lanes_here][tile].read(values);
  }
  /// Rounds the values of a tile, holds them, and writes them to `to`.
  KOKKOS_FORCEINLINE_FUNCTION void set(std::int64_t lane, int tile, const float* values, T* to) {
    bits_[lane % launch::lanes_here][tile] = TileBits<T>::rounded(values);
    bits_[lane % launch::lanes_here][tile].write(to);
  }

 private:
  TileBits<T> bits_[launch::lanes_here][tiles];
};

/// Returns whether consecutive rows that start there consist of complete, aligned tiles.
template <class T>
bool has_whole_tiles(const T* rows, std::int64_t columns) {
  return columns % tile_width == 0 && device_tile::is_aligned<tile_width>(rows);
}

/// The threads of a team of for_each_lanes_row().
inline constexpr int lanes_row_threads = 8;

/// Calls body(index, row) for index in [0, rows): the lanes of a thread for each row. `teams`: those that a
/// multiprocessor has registers for at the same time.
template <int teams, class Body>
void for_each_lanes_row(const Execution& exec, KernelName name, std::int64_t rows, const Body& body) {
  static_assert(launch::captures_little<Body>);
  using Teams =
      Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<lanes_row_threads * launch::lanes_of_thread,
                                                         launch::teams_at_a_time(teams)>>;
  const auto league = static_cast<int>(launch::ceiling_quotient(rows, lanes_row_threads));
  Kokkos::parallel_for(
      name.string(), Teams(exec, league, lanes_row_threads, launch::lanes_of_thread),
      KOKKOS_LAMBDA(const LanesRow::Member& member) {
        const std::int64_t index =
            std::int64_t{lanes_row_threads} * member.league_rank() + member.team_rank();
        if (index < rows) body(index, LanesRow(member));
      });
}

}  // namespace mylos

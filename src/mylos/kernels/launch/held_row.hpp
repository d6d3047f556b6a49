// Rows of elements that a row's lanes look at more than once: read again each time (ReadRow), or read once
// and held in registers (HeldRow). Not for hosts' kernels.
//
// In both lane l has the tiles l, l + lanes, ..., in this order: sums over either are the same to the bit.
// Only the first `counted` elements are the row's; what pads it counts as minus infinity.
#pragma once

#include <utility>

#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {

namespace device_tile {

/// Of `counted` elements, which may be none or more than a tile, the others of a tile become minus infinity.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void clear_padding(Elements<T>& tile, std::int64_t counted) {
  if (counted >= tile_width) return;
  const T nothing = from_float<T>(-Kokkos::Experimental::infinity_v<float>);
  for_each_in_tile(tile_width, [&](std::int64_t i) {
    if (i >= counted) tile.element[i] = nothing;
  });
}

}  // namespace device_tile

/// Elements in memory, up to 2^30 of them.
template <class T>
class ReadRow {
 public:
  KOKKOS_FORCEINLINE_FUNCTION ReadRow(const DeviceRow& row, const T* from, std::int64_t columns,
                                      std::int64_t counted)
      : from_(from),
        columns_(static_cast<std::int32_t>(columns)),
        counted_(static_cast<std::int32_t>(counted)),
        step_(static_cast<std::int32_t>(row.lanes() * tile_width)) {}

  /// body(first_column, elements) for every tile of a lane of the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    const auto start = static_cast<std::int32_t>(lane * tile_width);
    for (std::int32_t first = start; first < columns_; first += step_) {
      device_tile::Elements<T> tile = device_tile::load(from_ + first, width(first));
      device_tile::clear_padding(tile, counted_ - first);
      body(first, tile);
    }
  }
  /// Rounds the values of a tile to a row that is like this one.
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

/// Elements in registers, of a row as for_each_held_row gives it: of whole tiles, which are aligned.
template <class T>
class HeldRow {
 public:
  /// They take 32 registers, of the 64 that a lane has where 1024 work on a row.
  static constexpr int tiles_of_lane = 16 / sizeof(T);

  KOKKOS_FORCEINLINE_FUNCTION HeldRow(const DeviceRow& row, const T* from, std::int64_t columns,
                                      std::int64_t counted)
      : columns_(static_cast<std::int32_t>(columns)),
        step_(static_cast<std::int32_t>(row.lanes() * tile_width)) {
    row.for_each_lane([&](std::int64_t lane) {
      for_each_place(lane, [&](int place, std::int32_t first) {
        Elements tile = *reinterpret_cast<const Elements*>(from + first);
        device_tile::clear_padding(tile, counted - first);
        tiles_[lane % lanes_here][place] = Kokkos::bit_cast<Words>(tile);
      });
    });
  }

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile_of(std::int64_t lane, const Body& body) const {
    for_each_place(lane, [&](int place, std::int32_t first) {
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

  /// A tile's bits: of 16-bit elements compilers would hold each in a register of its own.
  struct Words {
    std::uint32_t word[sizeof(Elements) / sizeof(std::uint32_t)];
  };

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_place(std::int64_t lane, const Body& body) const {
    const auto start = static_cast<std::int32_t>(lane * tile_width);
    unroll(std::make_integer_sequence<int, tiles_of_lane>{}, [&](int place) {
      const std::int32_t first = start + place * step_;
      if (first < columns_) body(place, first);
    });
  }
  /// Whatever the compiler thinks of it: what has no constant index is not in registers.
  template <int... places, class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void unroll(std::integer_sequence<int, places...>, const Body& body) {
    (body(places), ...);
  }

  // A thread of an emulated device holds what all of its lanes do.
  static constexpr int lanes_here = emulates_device ? launch::lanes_of_thread : 1;

  std::int32_t columns_;
  std::int32_t step_;
  Words tiles_[lanes_here][tiles_of_lane];
};

namespace launch {

/// Threads of 32 lanes that hold a row: as few as do, and more where a device is emulated, as threads_of_row.
template <class T>
std::int64_t threads_that_hold(std::int64_t columns) {
  constexpr std::int64_t max_of_thread = lanes_of_thread * HeldRow<T>::tiles_of_lane * tile_width;
  const std::int64_t fewest = ceiling_quotient(columns, max_of_thread);
  return emulates_device && fewest <= 8 ? threads_of_row(columns) : fewest;
}

}  // namespace launch

/// Whether HeldRow can hold rows that lie one behind the other from `rows` on: there are enough registers for
/// 65,536 elements of 16 bits, or half as many floats.
template <class T>
bool can_be_held(const T* rows, std::int64_t columns) {
  constexpr std::int64_t max_threads = emulates_device ? 8 : 32;
  return columns > 0 && columns % tile_width == 0 && device_tile::is_aligned<tile_width>(rows) &&
         launch::threads_that_hold<T>(columns) <= max_threads;
}

/// body(row_index, row) for every row, as for_each_row's; there may be one HeldRow<T> in it, of `columns`.
template <class T, class Body>
void for_each_held_row(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                       const Body& body) {
  static_assert(launch::captures_little<Body>);
  using Teams = Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<1024, 1>>;
  const auto threads = static_cast<int>(launch::threads_that_hold<T>(columns));
  Kokkos::parallel_for(
      name.string(), Teams(exec, static_cast<int>(rows), threads, launch::lanes_of_thread),
      KOKKOS_LAMBDA(const DeviceRow::Member& member) {
        body(static_cast<std::int64_t>(member.league_rank()), DeviceRow(member));
      });
}

}  // namespace mylos

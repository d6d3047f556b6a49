// Launches kernels over elements, tiles, rows and columns, on the host and on devices. All kernels are
// launched here; those of the host by for_each_index() (base/device/each_index.hpp).
//
// On the host a thread processes a contiguous range, and its inner loop is a SIMD loop. On a device, elements
// are distributed over threads and rows over teams. A launch does not allocate or fence, and returns no value
// to the host. The order of every sum depends on the shape alone, never on the number of threads.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mylos/base/device/each_index.hpp"
#include "mylos/base/device/kernel_name.hpp"
#include "mylos/base/device/target.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/launch/divisor.hpp"

namespace mylos {

/// Calls body(i) for i in [begin, end); the calls must be independent. A SIMD loop on the host.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void simd_for(std::int64_t begin, std::int64_t end, const Body& body) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) body(i);
}

namespace launch {

using Range = IndexRange;
using Teams = Kokkos::TeamPolicy<Execution>;

KOKKOS_INLINE_FUNCTION constexpr std::int64_t ceiling_quotient(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}
KOKKOS_INLINE_FUNCTION std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

// The size limit that Kokkos has for passing a kernel's arguments directly on every device
// (CudaTraits::ConstantMemoryUseThreshold). Beyond it Kokkos copies them in a way that blocks the host.
template <class Body>
inline constexpr bool captures_little = sizeof(Body) <= 512;

}  // namespace launch

/// Calls body(begin, end) for blocks of `block` elements of [0, count), one host or device thread per block.
template <class Body>
void for_each_block(const Execution& exec, KernelName name, std::int64_t count, std::int64_t block,
                    const Body& body) {
  static_assert(launch::captures_little<Body>);
  const std::int64_t blocks = launch::ceiling_quotient(count, block);
  for_each_index(
      exec, name, blocks, KOKKOS_LAMBDA(std::int64_t index) {
        const std::int64_t begin = index * block;
        body(begin, launch::smaller(begin + block, count));
      });
}

/// Calls body(i) for i in [0, count), in any order.
template <class Body>
void for_each_element(const Execution& exec, KernelName name, std::int64_t count, const Body& body) {
  static_assert(launch::captures_little<Body>);
  if constexpr (runs_on_host) {
    for_each_block(exec, name, count, 4096, [body](std::int64_t begin, std::int64_t end) {
      const Body local = body;  // a copy with a local address, so that its captures stay in registers
      simd_for(begin, end, local);
    });
  } else {
    Kokkos::parallel_for(name.string(), launch::Range(exec, 0, count), body);
  }
}

/// The number of columns of a row that are processed together: a strip of vectors on the host, eight (16
/// bytes of 16-bit elements) per device thread. Tiles start at multiples of it.
inline constexpr std::int64_t tile_width = runs_on_host ? 256 : 8;

/// Calls body(i) for i in [0, count), count <= tile_width. Unrolled on devices, so that small arrays stay in
/// registers.
template <class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_each_in_tile(std::int64_t count, const Body& body) {
  if constexpr (runs_on_host) {
    simd_for(0, count, body);
  } else {
    for (std::int64_t i = 0; i < tile_width; ++i) {
      if (i < count) body(i);
    }
  }
}

/// Calls body(row, first_column, count) for every tile of a matrix, in any order.
template <class Body>
void for_each_tile(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                   const Body& body) {
  static_assert(launch::captures_little<Body>);
  const std::int64_t tiles = launch::ceiling_quotient(columns, tile_width);
  if (tiles == 0) return;
  const Divisor divisor(tiles);
  const std::int64_t together = Divisor::max / tiles;
  for (std::int64_t first_row = 0; first_row < rows; first_row += together) {
    const std::int64_t count = launch::smaller(together, rows - first_row);
    for_each_index(
        exec, name, count * tiles, KOKKOS_LAMBDA(std::int64_t index) {
          const std::int64_t row = divisor.quotient(index);
          const std::int64_t first = (index - row * tiles) * tile_width;
          body(first_row + row, first, launch::smaller(tile_width, columns - first));
        });
  }
}

/// Calls body(first, count) for the tiles of [0, count), in any order.
template <class Body>
void for_each_tile(const Execution& exec, KernelName name, std::int64_t count, const Body& body) {
  static_assert(launch::captures_little<Body>);
  const std::int64_t tiles = launch::ceiling_quotient(count, tile_width);
  for_each_index(
      exec, name, tiles, KOKKOS_LAMBDA(std::int64_t tile) {
        body(tile * tile_width, launch::smaller(tile_width, count - tile * tile_width));
      });
}

/// A row that one host thread processes with SIMD loops.
class HostRow {
 public:
  /// Returns the sum of term(column), in the type of term's result.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION auto sum(std::int64_t columns, const Term& term) const {
    std::invoke_result_t<Term, std::int64_t> total{};
#pragma omp simd reduction(+ : total)
    for (std::int64_t column = 0; column < columns; ++column) total += term(column);
    return total;
  }
  /// Returns the largest term(column), or the type's lowest value if there are no columns. NaN may be
  /// ignored.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION auto max(std::int64_t columns, const Term& term) const {
    using Value = std::invoke_result_t<Term, std::int64_t>;
    Value largest = Kokkos::reduction_identity<Value>::max();
#pragma omp simd reduction(max : largest)
    for (std::int64_t column = 0; column < columns; ++column) {
      const Value value = term(column);
      largest = value > largest ? value : largest;
    }
    return largest;
  }
  /// Calls body(column) for every column. Every call assigns a column to the same thread.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::int64_t columns, const Body& body) const {
    simd_for(0, columns, body);
  }
  /// Calls body(first_column, count) for every tile of the row. Every call assigns a tile to the same thread.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_tile(std::int64_t columns, const Body& body) const {
    for (std::int64_t first = 0; first < columns; first += tile_width)
      body(first, launch::smaller(tile_width, columns - first));
  }
  /// Calls body() once for the row.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Body& body) const {
    body();
  }
  /// Makes what one thread of the row has written visible to the others.
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {}
};

namespace launch {

inline constexpr int lanes_of_thread = device_lanes;
inline constexpr bool has_wide_waves = lanes_of_thread == 64;

// Without a bound NVIDIA's compiler gives a kernel the registers that it needs; AMD's counts on 1024 lanes,
// leaves each of them 128 registers, and spills the others of some kernels.
inline constexpr int max_row_lanes = 512;
using RowTeams =
    std::conditional_t<has_wide_waves, Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<max_row_lanes>>,
                       Teams>;

/// All lanes of a team of device threads.
struct LanesOfTeam {
  using Member = Teams::member_type;
  static constexpr bool are_in_one_thread = false;
  KOKKOS_FORCEINLINE_FUNCTION static auto range(const Member& member, std::int64_t count) {
    return Kokkos::TeamVectorRange(member, count);
  }
  KOKKOS_FORCEINLINE_FUNCTION static auto one(const Member& member) { return Kokkos::PerTeam(member); }
  KOKKOS_FORCEINLINE_FUNCTION static std::int64_t count(const Member& member) {
    return std::int64_t{lanes_of_thread} * member.team_size();
  }
  /// Returns the index of a lane of the current thread.
  KOKKOS_FORCEINLINE_FUNCTION static int index(const Member& member, int lane_of_thread) {
    return member.team_rank() * lanes_of_thread + lane_of_thread;
  }
  KOKKOS_FORCEINLINE_FUNCTION static void barrier(const Member& member) { member.team_barrier(); }
};

}  // namespace launch

/// A row that lanes of device threads process. Same members as HostRow.
template <class Lanes>
class RowOfLanes {
 public:
  using Member = launch::Teams::member_type;
  KOKKOS_FUNCTION explicit RowOfLanes(const Member& member) : member_(member) {}

  template <class Term>
  KOKKOS_FUNCTION auto sum(std::int64_t columns, const Term& term) const {
    using Value = std::invoke_result_t<Term, std::int64_t>;
    Value total{};
    Kokkos::parallel_reduce(
        Lanes::range(member_, columns), [&](std::int64_t column, Value& partial) { partial += term(column); },
        total);
    return total;
  }
  template <class Term>
  KOKKOS_FUNCTION auto max(std::int64_t columns, const Term& term) const {
    using Value = std::invoke_result_t<Term, std::int64_t>;
    Value largest = Kokkos::reduction_identity<Value>::max();
    Kokkos::parallel_reduce(
        Lanes::range(member_, columns),
        [&](std::int64_t column, Value& partial) {
          const Value value = term(column);
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<Value>(largest));
    return largest;
  }
  template <class Body>
  KOKKOS_FUNCTION void for_each(std::int64_t columns, const Body& body) const {
    Kokkos::parallel_for(Lanes::range(member_, columns), body);
  }
  template <class Body>
  KOKKOS_FUNCTION void for_each_tile(std::int64_t columns, const Body& body) const {
    const std::int64_t tiles = launch::ceiling_quotient(columns, tile_width);
    for_each(tiles, [&](std::int64_t tile) {
      body(tile * tile_width, launch::smaller(tile_width, columns - tile * tile_width));
    });
  }
  template <class Body>
  KOKKOS_FUNCTION void once(const Body& body) const {
    Kokkos::single(Lanes::one(member_), body);
  }
  KOKKOS_FUNCTION void barrier() const { Lanes::barrier(member_); }

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t lanes() const { return Lanes::count(member_); }
  /// Calls body(lane) in each lane. This is not a loop of one iteration: compilers would hoist loop-invariant
  /// work out of it and hold all of it in registers.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_lane(const Body& body) const {
    if constexpr (emulates_device) {
      for_each(lanes(), body);
    } else {
      body(current_lane());
    }
  }
  /// Returns the sum of term(lane), evaluated like the body of for_each_lane.
  template <class Term>
  KOKKOS_FORCEINLINE_FUNCTION auto sum_lanes(const Term& term) const {
    if constexpr (emulates_device) {
      return sum(lanes(), term);
    } else if constexpr (hardware::has_wave && Lanes::are_in_one_thread) {
      std::invoke_result_t<Term, std::int64_t> total{};
      total += term(current_lane());
      return hardware::sum_of_lanes(total);
    } else {
      const auto lane_term = term(current_lane());
      return sum(lanes(), [&](std::int64_t) { return lane_term; });
    }
  }

 private:
  /// Kokkos does not state it. The maximum, because compilers replace a plain assignment by the loop's last
  /// value, which takes a division.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t current_lane() const {
    if constexpr (hardware::has_wave) return Lanes::index(member_, hardware::lane());
    int of_thread = 0;
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member_, launch::lanes_of_thread),
                         [&](int lane) { of_thread = lane > of_thread ? lane : of_thread; });
    return Lanes::index(member_, of_thread);
  }

  const Member& member_;
};

using DeviceRow = RowOfLanes<launch::LanesOfTeam>;

using Row = std::conditional_t<runs_on_host, HostRow, DeviceRow>;

namespace launch {

/// Returns the number of threads that process a row together: one if the row has at most 8 tiles per lane,
/// because then no thread waits for another. An emulated device uses more, to test that they do wait.
inline int threads_of_row(std::int64_t columns) {
  constexpr std::int64_t columns_of_thread = emulates_device ? 16 : 8 * lanes_of_thread * tile_width;
  constexpr std::int64_t max_team_threads = emulates_device ? 8 : max_row_lanes / lanes_of_thread;
  return static_cast<int>(smaller(max_team_threads, ceiling_quotient(columns + 1, columns_of_thread)));
}

}  // namespace launch

/// Calls body(row_index, row) for every row. The body processes the row's columns through row.sum, row.max
/// and row.for_each. A device distributes its threads by `columns`, the approximate number of columns.
template <class Body>
void for_each_row(const Execution& exec, KernelName name, std::int64_t rows,
                  [[maybe_unused]] std::int64_t columns, const Body& body) {
  static_assert(launch::captures_little<Body>);
  if constexpr (runs_on_host) {
    for_each_index(exec, name, rows, [body](std::int64_t index) {
      const Body local = body;  // as in for_each_element
      local(index, HostRow{});
    });
  } else {
    Kokkos::parallel_for(
        name.string(),
        launch::RowTeams(exec, static_cast<int>(rows), launch::threads_of_row(columns),
                         launch::lanes_of_thread),
        KOKKOS_LAMBDA(const launch::Teams::member_type& member) {
          body(static_cast<std::int64_t>(member.league_rank()), DeviceRow(member));
        });
  }
}

/// As for_each_row, for rows of some thousand columns.
template <class Body>
void for_each_row(const Execution& exec, KernelName name, std::int64_t rows, const Body& body) {
  for_each_row(exec, name, rows, 8000, body);
}

/// Reserves level-1 scratch before the first step: until a kernel has requested it, Kokkos 5.0.2 calls
/// cudaMalloc for 0 bytes at every launch of teams. Does nothing on hosts.
inline void reserve_team_scratch(const Execution& exec) {
  if constexpr (!runs_on_host) {
    Kokkos::parallel_for("team_scratch", launch::Teams(exec, 1, 1).set_scratch_size(1, Kokkos::PerTeam(16)),
                         KOKKOS_LAMBDA(const launch::Teams::member_type&){});
  }
}

}  // namespace mylos

// The column sums of a matrix that lies in memory: on devices in two stages, so that all multiprocessors read
// rows.
#pragma once

#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/registers.hpp"

namespace mylos {

namespace launch {

// A team reads a strip of columns, a tile per lane; each of its threads every eighth row of the team's part.
inline constexpr int part_threads = 8;
inline constexpr std::int64_t part_columns = lanes_of_thread * tile_width;
// Four teams on each multiprocessor of an H100, all at the same time.
inline constexpr std::int64_t max_part_teams = 512;
inline constexpr std::int64_t min_part_rows = 256;

/// Returns the number of parts into which the rows are divided; depends on the shape alone.
inline std::int64_t column_sum_parts(std::int64_t rows, std::int64_t columns) {
  const std::int64_t strips = ceiling_quotient(columns, part_columns);
  const std::int64_t max_parts = max_part_teams / smaller(max_part_teams, strips);
  return rows < min_part_rows ? 1 : smaller(max_parts, rows / min_part_rows);
}

/// Reads tiles of rows; `whole`: all tiles are complete and aligned, and several rows are read at the same
/// time.
template <bool whole, class T>
KOKKOS_FORCEINLINE_FUNCTION void add_rows_of_lane(const T* from, std::int64_t stride, std::int64_t row,
                                                  std::int64_t end, std::int64_t count, float* total) {
  const auto add = [&](const device_tile::Elements<T>& tile) {
    for_each_in_tile(count, [&](std::int64_t i) { total[i] += to_float(tile.element[i]); });
  };
  if constexpr (whole) {
    constexpr int together = 8 / sizeof(T);  // 16 registers
    for (; row + (together - 1) * part_threads < end; row += together * part_threads) {
      TileBits<T> tiles[together];
      unroll<together>([&](int i) { tiles[i] = TileBits<T>(from + (row + i * part_threads) * stride); });
      unroll<together>([&](int i) { add(tiles[i].elements()); });
    }
  }
  for (; row < end; row += part_threads) add(device_tile::load(from + row * stride, count));
}

/// Writes the sums of each part of the rows to sums[part * columns + column].
template <bool whole, class T>
void sum_parts(const Execution& exec, KernelName name, const T* matrix, std::int64_t rows,
               std::int64_t columns, std::int64_t parts, float* sums) {
  using PartTeams = Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<part_threads * lanes_of_thread, 4>>;
  using Scratch = Kokkos::View<float[part_threads][part_columns], Execution::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  constexpr std::int64_t width = part_columns;  // local copies, of which device code may take references
  constexpr int lanes = lanes_of_thread;
  const std::int64_t strips = ceiling_quotient(columns, width);
  const std::int64_t rows_of_part = ceiling_quotient(rows, parts);
  Kokkos::parallel_for(
      name.string(),
      PartTeams(exec, static_cast<int>(parts * strips), part_threads, lanes_of_thread)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size()))),
      KOKKOS_LAMBDA(const Teams::member_type& member) {
        const Scratch thread_sums(member.team_scratch(0));
        const std::int64_t part = member.league_rank() / strips;
        const std::int64_t strip_start = (member.league_rank() - part * strips) * width;
        const std::int64_t start = part * rows_of_part + member.team_rank();
        const std::int64_t end = smaller((part + 1) * rows_of_part, rows);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int lane) {
          const std::int64_t first = strip_start + lane * tile_width;
          const std::int64_t count = smaller(tile_width, columns - first);
          float total[tile_width] = {};
          if (count > 0) add_rows_of_lane<whole>(matrix + first, columns, start, end, count, total);
          for_each_in_tile(tile_width, [&](std::int64_t i) {
            thread_sums(member.team_rank(), lane * tile_width + i) = total[i];
          });
        });
        member.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamVectorRange(member, width), [&](std::int64_t column) {
          float total = 0;
          for (int thread = 0; thread < part_threads; ++thread) total += thread_sums(thread, column);
          if (strip_start + column < columns) sums[part * columns + strip_start + column] = total;
        });
      });
}

template <class T, class Store>
void sum_rows_of_matrix(const Execution& exec, KernelName name, const T* matrix, std::int64_t rows,
                        std::int64_t columns, const Store& store) {
  sum_columns(
      exec, name, rows, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count, float* value) {
        copy_tile(matrix + row * columns + first, count, value);
      },
      store);
}

template <class T, class Store>
void sum_in_parts(const Execution& exec, KernelName name, const T* matrix, std::int64_t rows,
                  std::int64_t columns, const Store& store, float* workspace) {
  const std::int64_t parts = column_sum_parts(rows, columns);
  if (parts == 1) return sum_rows_of_matrix(exec, name, matrix, rows, columns, store);
  const bool whole = columns % tile_width == 0 && device_tile::is_aligned<tile_width>(matrix);
  whole ? sum_parts<true>(exec, name, matrix, rows, columns, parts, workspace)
        : sum_parts<false>(exec, name, matrix, rows, columns, parts, workspace);
  sum_rows_of_matrix(exec, name, workspace, parts, columns, store);
}

}  // namespace launch

/// The bytes of workspace that suffice for long_column_sums() of any matrix.
inline constexpr std::size_t long_column_sums_workspace =
    runs_on_host ? 0 : launch::max_part_teams * launch::part_columns * sizeof(float);

/// Calls store(column, total) with the float sum of each column of a [rows, columns] matrix, in an order that
/// depends on the shape alone.
template <class T, class Store>
void long_column_sums(const Execution& exec, KernelName name, const T* matrix, std::int64_t rows,
                      std::int64_t columns, const Store& store, [[maybe_unused]] void* workspace) {
  if constexpr (runs_on_host) {
    launch::sum_rows_of_matrix(exec, name, matrix, rows, columns, store);
  } else {
    launch::sum_in_parts(exec, name, matrix, rows, columns, store, static_cast<float*>(workspace));
  }
}

}  // namespace mylos

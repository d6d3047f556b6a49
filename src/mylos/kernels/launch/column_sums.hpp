// Sums over the rows of a matrix, column by column, fused with the kernel that computes the elements.
#pragma once

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

namespace launch {

/// The number of rows whose terms are summed before they are added to the column's total. Partial sums reduce
/// the rounding error of long columns.
inline constexpr std::int64_t rows_per_partial_sum = 64;

/// Returns the columns of a strip: a multiple of a cache line, and as equal for all threads as possible. The
/// columns' sums do not depend on it.
inline std::int64_t strip_columns(const Execution& exec, std::int64_t columns) {
  constexpr std::int64_t in_a_line = 32;  // of 16-bit elements
  const std::int64_t threads = threads_of(exec);
  const std::int64_t strips = threads * ceiling_quotient(columns, threads * tile_width);
  return ceiling_quotient(ceiling_quotient(columns, strips), in_a_line) * in_a_line;
}

/// add_rows(first_row, end_row, first_column, count, sums) adds the terms of these rows in their order.
template <class AddRows, class Store>
void sum_blocks_of_rows(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                        const AddRows& add_rows, const Store& store) {
  const std::int64_t width = strip_columns(exec, columns);
  const std::int64_t strips = ceiling_quotient(columns, width);
  for_each_index(exec, name, strips, [=](std::int64_t strip) {
    const std::int64_t first = strip * width;
    const std::int64_t count = smaller(width, columns - first);
    float total[tile_width] = {};
    for (std::int64_t start = 0; start < rows; start += rows_per_partial_sum) {
      float partial[tile_width] = {};
      add_rows(start, smaller(start + rows_per_partial_sum, rows), first, count, partial);
      simd_for(0, count, [&](std::int64_t i) { total[i] += partial[i]; });
    }
    for (std::int64_t i = 0; i < count; ++i) store(first + i, total[i]);
  });
}

template <class Tile, class Store>
void sum_columns_on_host(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                         const Tile& tile, const Store& store) {
  sum_blocks_of_rows(
      exec, name, rows, columns,
      [tile](std::int64_t row, std::int64_t end, std::int64_t first, std::int64_t count, float* sums) {
        float value[tile_width];
        for (; row < end; ++row) {
          tile(row, first, count, value);
          simd_for(0, count, [&](std::int64_t i) { sums[i] += value[i]; });
        }
      },
      store);
}

/// A team processes 32 columns, one tile per lane. Each of its threads takes every 32nd row; the threads'
/// sums are added in order.
template <class Tile, class Store>
void sum_columns_on_device(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                           const Tile& tile, const Store& store) {
  constexpr int threads = 32;
  constexpr std::int64_t strip_width = 32;
  constexpr auto lanes = static_cast<int>(strip_width / tile_width);
  using Scratch = Kokkos::View<float[threads][strip_width], Execution::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  const auto strips = static_cast<int>(ceiling_quotient(columns, strip_width));
  Kokkos::parallel_for(
      name.string(),
      Teams(exec, strips, threads, lanes)
          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Scratch::shmem_size()))),
      KOKKOS_LAMBDA(const Teams::member_type& member) {
        const Scratch sums(member.team_scratch(0));
        const std::int64_t strip_start = member.league_rank() * strip_width;
        const int thread = member.team_rank();
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, lanes), [&](int lane) {
          const std::int64_t first = strip_start + lane * tile_width;
          const std::int64_t count = smaller(tile_width, columns - first);
          float total[tile_width] = {};
          float value[tile_width] = {};
          for (std::int64_t row = thread; row < rows && count > 0; row += threads) {
            tile(row, first, count, value);
            for_each_in_tile(count, [&](std::int64_t i) { total[i] += value[i]; });
          }
          for_each_in_tile(tile_width,
                           [&](std::int64_t i) { sums(thread, lane * tile_width + i) = total[i]; });
        });
        member.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamVectorRange(member, strip_width), [&](std::int64_t column) {
          float total = 0;
          for (int part = 0; part < threads; ++part) total += sums(part, column);
          if (strip_start + column < columns) store(strip_start + column, total);
        });
      });
}

}  // namespace launch

/// Calls tile(row, first_column, count, value) for every tile; it must write its `count` terms to value[].
/// Tiles start at multiples of 8. Then calls store(column, total) for every column, where total is the float
/// sum of the column's terms over the rows. The order of the additions is fixed for any number of threads.
/// Uses no atomics and no workspace.
template <class Tile, class Store>
void sum_columns(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                 const Tile& tile, const Store& store) {
  if constexpr (runs_on_host) {
    launch::sum_columns_on_host(exec, name, rows, columns, tile, store);
  } else {
    launch::sum_columns_on_device(exec, name, rows, columns, tile, store);
  }
}

}  // namespace mylos

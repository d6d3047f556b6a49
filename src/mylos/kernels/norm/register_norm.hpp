// Normalisations of rows that the lanes of one device thread hold in registers (RegisterTiles): each row is
// read once, and the sums over rows are in registers too. For device kernels only; norm_rows.hpp has the
// formulas.
//
// The statistics have the bits of norm_rows.hpp, whose rows of this width have the same tiles in each lane.
#pragma once

#include "mylos/kernels/launch/register_tiles.hpp"
#include "mylos/kernels/launch/row_blocks.hpp"
#include "mylos/kernels/launch/row_sums.hpp"

namespace mylos::register_norm {

/// The columns that `tiles` tiles of each lane hold.
inline constexpr std::int64_t columns_of(int tiles) {
  return tiles * launch::lanes_of_thread * tile_width;
}

struct Statistics {
  float mean;
  float rstd;
};

/// Computes the statistics of the row that `x` holds.
template <class Kind, class T, int tiles>
KOKKOS_FORCEINLINE_FUNCTION Statistics statistics_of(const LanesRow& row, const RegisterTiles<T, tiles>& x,
                                                     std::int64_t columns, float epsilon) {
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  const auto sum_over = [&](const auto& term) {
    return row.sum_lanes([&](std::int64_t lane) {
      float total = 0;
      RegisterTiles<T, tiles>::for_each(lane, columns, [&](int tile, std::int32_t) {
        float element[tile_width];
        x.values(lane, tile, element);
        float sum = 0;
        for_each_in_tile(tile_width, [&](std::int64_t i) { sum += term(element[i]); });
        total += sum;
      });
      return total;
    });
  };
  float m = 0;
  if constexpr (Kind::has_mean) m = inverse_columns * sum_over([](float element) { return element; });
  const float variance = inverse_columns * sum_over([m](float element) {
                           const float deviation = element - m;
                           return deviation * deviation;
                         });
  return {m, 1.0f / Kokkos::sqrt(variance + epsilon)};
}

/// What a forward pass reads and writes besides x.
template <class T>
struct ForwardRows {
  const T* weight;
  const T* bias;  // or nullptr
  T* y;
  float* mean;
  float* rstd;
  std::int64_t columns;
  float epsilon;

  /// Normalises the row that `x` holds.
  template <class Kind, int tiles>
  KOKKOS_FORCEINLINE_FUNCTION void normalize(const LanesRow& row, std::int64_t index,
                                             const RegisterTiles<T, tiles>& x) const {
    const Statistics of = statistics_of<Kind>(row, x, columns, epsilon);
    T* const out = y + index * columns;
    row.for_each_lane([&](std::int64_t lane) {
      RegisterTiles<T, tiles>::for_each(lane, columns, [&](int tile, std::int32_t first) {
        float element[tile_width];
        float factor[tile_width];
        float value[tile_width];
        x.values(lane, tile, element);
        read_whole_tile(weight + first, factor);
        if (Kind::has_bias && bias != nullptr) {
          float shift[tile_width];
          read_whole_tile(bias + first, shift);
          for_each_in_tile(tile_width, [&](std::int64_t i) {
            value[i] = Kind::output(element[i], of.mean, of.rstd, factor[i], shift[i]);
          });
        } else {
          for_each_in_tile(tile_width, [&](std::int64_t i) {
            value[i] = Kind::output(element[i], of.mean, of.rstd, factor[i]);
          });
        }
        write_whole_tile(value, out + first);
      });
    });
    row.once([&]() {
      if (Kind::has_mean) mean[index] = of.mean;
      rstd[index] = of.rstd;
    });
  }
};

/// The rows that are normalised: x, or their sum x = past + branch, rounded, which is then written.
template <class T>
struct InputRows {
  const T* x;
  const T* past;  // or nullptr
  const T* branch;
  T* sum;

  template <int tiles>
  KOKKOS_FORCEINLINE_FUNCTION void read(const LanesRow& row, std::int64_t start, std::int64_t columns,
                                        RegisterTiles<T, tiles>& held) const {
    if (past == nullptr) return held.read(row, x + start, columns);
    RegisterTiles<T, tiles> added;
    held.read(row, past + start, columns);
    added.read(row, branch + start, columns);
    row.for_each_lane([&](std::int64_t lane) {
      RegisterTiles<T, tiles>::for_each(lane, columns, [&](int tile, std::int32_t first) {
        float before[tile_width];
        float through[tile_width];
        float value[tile_width];
        held.values(lane, tile, before);
        added.values(lane, tile, through);
        for_each_in_tile(tile_width, [&](std::int64_t i) { value[i] = before[i] + through[i]; });
        held.set(lane, tile, value, sum + start + first);
      });
    });
  }
};

/// One kernel for x and for sums: compilers contract it once, so that both have the same bits.
template <class Kind, class T, int tiles>
void forward(const Execution& exec, KernelName name, const InputRows<T>& input, std::int64_t rows,
             const ForwardRows<T>& all) {
  // The teams of 256 lanes for which the registers of a multiprocessor suffice (by ptxas, for sm_90).
  constexpr int teams = (tiles <= 4 ? 2 : 1) + (sizeof(T) == 2 ? 1 : 0);
  for_each_lanes_row<teams>(
      exec, name, rows, KOKKOS_LAMBDA(std::int64_t index, const LanesRow& row) {
        RegisterTiles<T, tiles> held;
        input.read(row, index * all.columns, all.columns, held);
        all.template normalize<Kind>(row, index, held);
      });
}

/// The tensors of a backward pass.
template <class T>
struct BackwardRows {
  const T* x;
  const T* dy;
  const T* weight;
  const float* mean;
  const float* rstd;
  T* dx;
  const T* residual;  // or nullptr
  std::int64_t rows;
  std::int64_t columns;
};

/// The sums over the rows of a thread: for the gradient of the weight and that of the bias.
template <int tiles>
struct ThreadSums {
  float weight[launch::lanes_here][tiles][tile_width] = {};
  float bias[launch::lanes_here][tiles][tile_width] = {};
};

/// Computes dx of row r and adds its terms to the sums.
template <class Kind, class T, int tiles>
KOKKOS_FORCEINLINE_FUNCTION void backward_row(const BackwardRows<T>& all, const LanesRow& row, std::int64_t r,
                                              ThreadSums<tiles>& sums) {
  using Tiles = RegisterTiles<T, tiles>;
  const std::int64_t columns = all.columns;
  const std::int64_t start = r * columns;
  Tiles x;
  Tiles dy;
  Tiles residual;
  x.read(row, all.x + start, columns);
  dy.read(row, all.dy + start, columns);
  const bool has_residual = all.residual != nullptr;
  if (has_residual) residual.read(row, all.residual + start, columns);
  const float m = Kind::has_mean ? all.mean[r] : 0.0f;
  const float s = all.rstd[r];
  const GradientSums total = row.sum_lanes([&](std::int64_t lane) {
    GradientSums of_lane;
    Tiles::for_each(lane, columns, [&](int tile, std::int32_t first) {
      float element[tile_width];
      float gradient[tile_width];
      float factor[tile_width];
      x.values(lane, tile, element);
      dy.values(lane, tile, gradient);
      read_whole_tile(all.weight + first, factor);
      GradientSums of_tile;
      for_each_in_tile(tile_width, [&](std::int64_t i) {
        const float g = gradient[i] * factor[i];
        if (Kind::has_mean) of_tile.gradient += g;
        of_tile.normalized += g * Kind::normalized(element[i], m, s);
      });
      of_lane += of_tile;
    });
    return of_lane;
  });
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  const float mean_g = inverse_columns * total.gradient;
  const float mean_gn = inverse_columns * total.normalized;
  row.for_each_lane([&](std::int64_t lane) {
    Tiles::for_each(lane, columns, [&](int tile, std::int32_t first) {
      float element[tile_width];
      float gradient[tile_width];
      float factor[tile_width];
      float value[tile_width];
      x.values(lane, tile, element);
      dy.values(lane, tile, gradient);
      read_whole_tile(all.weight + first, factor);
      const std::int64_t here = lane % launch::lanes_here;
      for_each_in_tile(tile_width, [&](std::int64_t i) {
        const float d = gradient[i];
        const float n = Kind::normalized(element[i], m, s);
        sums.weight[here][tile][i] += d * n;
        if (Kind::has_bias) sums.bias[here][tile][i] += d;
        value[i] = Kind::input_gradient(s, d, factor[i], n, mean_g, mean_gn);
      });
      if (has_residual) {
        float past[tile_width];
        residual.values(lane, tile, past);
        for_each_in_tile(tile_width, [&](std::int64_t i) { value[i] += past[i]; });
      }
      write_whole_tile(value, all.dx + start + first);
    });
  });
}

/// Writes the sums of each block of rows to the workspace as norm_rows::backward_by_blocks does. The threads
/// of a team process the rows of a block interleaved; their sums are added in order.
template <class Kind, class T, int tiles>
void backward(const Execution& exec, KernelName name, const BackwardRows<T>& all, float* workspace) {
  constexpr int threads = lanes_row_threads;
  // In 128 registers fit the sums of three tiles and rows of 16-bit elements.
  constexpr int teams = tiles <= 3 && sizeof(T) == 2 ? 2 : 1;
  using Teams = Kokkos::TeamPolicy<
      Execution, Kokkos::LaunchBounds<threads * launch::lanes_of_thread, launch::teams_at_a_time(teams)>>;
  const std::int64_t block = rows_per_block(all.rows);
  const std::int64_t columns_of_sums = (Kind::has_bias ? 2 : 1) * all.columns;
  const auto bytes = LanesTeam::alignment + static_cast<int>(columns_of_sums * std::int64_t{sizeof(float)});
  Kokkos::parallel_for(
      name.string(),
      Teams(exec, static_cast<int>(row_blocks(all.rows)), threads, launch::lanes_of_thread)
          .set_scratch_size(0, Kokkos::PerTeam(bytes)),
      KOKKOS_LAMBDA(const LanesRow::Member& member) {
        const LanesRow row(member);
        const std::int64_t index = member.league_rank();
        ThreadSums<tiles> sums;
        const std::int64_t end = launch::smaller((index + 1) * block, all.rows);
        for (std::int64_t r = index * block + member.team_rank(); r < end; r += threads)
          backward_row<Kind>(all, row, r, sums);

        auto* const totals = static_cast<float*>(member.team_scratch(0).get_shmem_aligned(
            static_cast<std::ptrdiff_t>(columns_of_sums * sizeof(float)), LanesTeam::alignment));
        for (int thread = 0; thread < threads; ++thread) {
          if (thread == member.team_rank()) {
            row.for_each_lane([&](std::int64_t lane) {
              RegisterTiles<T, tiles>::for_each(lane, all.columns, [&](int tile, std::int32_t first) {
                const auto add = [&](const float* of_thread, float* total) {
                  float sum[tile_width] = {};
                  if (thread > 0) read_whole_tile(total, sum);
                  for_each_in_tile(tile_width, [&](std::int64_t i) { sum[i] += of_thread[i]; });
                  write_whole_tile(sum, total);
                };
                add(sums.weight[lane % launch::lanes_here][tile], totals + first);
                if (Kind::has_bias)
                  add(sums.bias[lane % launch::lanes_here][tile], totals + all.columns + first);
              });
            });
          }
          member.team_barrier();
        }
        float* const sums_of_block = workspace + index * columns_of_sums;
        Kokkos::parallel_for(Kokkos::TeamVectorRange(member, columns_of_sums),
                             [&](std::int64_t i) { sums_of_block[i] = totals[i]; });
      });
}

/// Calls function(tiles) with the tiles per lane, as a constant, of the kernel for rows of so many columns:
/// the smallest of `choices` that holds them. Returns false if none does.
template <int... choices, class Function>
bool with_tiles(std::int64_t columns, const Function& function) {
  bool found = false;
  const auto try_one = [&](auto tiles) {
    if (found || columns > columns_of(tiles.value)) return;
    found = true;
    function(tiles);
  };
  (try_one(std::integral_constant<int, choices>{}), ...);
  return found;
}

}  // namespace mylos::register_norm

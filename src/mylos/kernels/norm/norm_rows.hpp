// The structure that normalisations over the columns of each row share, forward and backward.
//
//   n = (x - mean) rstd,   y = n weight + bias,   dx = rstd (g - mean of g - n * mean of g n) + residual with
//   g = dy weight
//
// A Kind (LayerNorm, RmsNorm) defines how a row is centred, and so which of these terms exist. Each of its
// functions is a single expression, so that compilers contract it as it is written.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/lanes_row.hpp"
#include "mylos/kernels/launch/row_blocks.hpp"
#include "mylos/kernels/launch/row_sums.hpp"
#include "mylos/kernels/launch/store.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/norm/register_norm.hpp"
#include "mylos/kernels/norm/residual_sum.hpp"

namespace mylos::norm_rows {

/// `bias` may be empty.
template <class Kind, class T, class W>
void forward_rows(const Execution& exec, KernelName name, const ConstTensor& x_tensor,
                  const ConstTensor& weight_tensor, const ConstTensor& bias_tensor, const Tensor& y_tensor,
                  float* mean, float* rstd, float epsilon) {
  const T* x = x_tensor.as<T>();
  T* y = y_tensor.as<T>();
  const W* weight = weight_tensor.as<W>();
  const W* bias = bias_tensor.empty() ? nullptr : bias_tensor.as<W>();
  const std::int64_t rows = x_tensor.rows();
  const std::int64_t columns = x_tensor.columns();
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, name, rows, columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* in = x + index * columns;
        T* out = y + index * columns;
        prefetch_tile_to_write(out + launch::smaller(norm_prefetch_distance, rows - 1 - index) * columns,
                               columns);
        const float m = Kind::mean(row, in, columns, inverse_columns);
        const float variance = inverse_columns * sum_of_squares(row, in, m, columns);
        const float r = 1.0f / Kokkos::sqrt(variance + epsilon);
        row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
          float buffers[3][tile_width];
          float value[tile_width];
          const auto element = tile_values(in + first, count, buffers[0]);
          const auto factor = tile_values(weight + first, count, buffers[1]);
          if (Kind::has_bias && bias != nullptr) {
            const auto shift = tile_values(bias + first, count, buffers[2]);
            for_each_in_tile(count, [&](std::int64_t i) {
              value[i] = Kind::output(element[i], m, r, factor[i], shift[i]);
            });
          } else {
            for_each_in_tile(count,
                             [&](std::int64_t i) { value[i] = Kind::output(element[i], m, r, factor[i]); });
          }
          write_tile(value, count, out + first);
        });
        row.once([=]() {
          if (Kind::has_mean) mean[index] = m;
          rstd[index] = r;
        });
      });
}

/// Holds each row in registers, if the lanes of a thread can. `sum`: gives x, or null. Returns false if
/// nothing was done.
template <class Kind, class T>
bool forward_in_registers(const Execution& exec, KernelName name, const ResidualSum* sum,
                          const ConstTensor& x, const ConstTensor& weight, const ConstTensor& bias,
                          const Tensor& y, float* mean, float* rstd, float epsilon) {
  const std::int64_t columns = x.columns();
  const register_norm::ForwardRows<T> all{
      weight.as<T>(), bias.empty() ? nullptr : bias.as<T>(), y.as<T>(), mean, rstd, columns, epsilon};
  const auto whole = [&](const T* first) { return first == nullptr || has_whole_tiles(first, columns); };
  if (!whole(x.as<T>()) || !whole(all.weight) || !whole(all.bias) || !whole(all.y)) return false;
  register_norm::InputRows<T> input{.x = x.as<T>(), .past = nullptr, .branch = nullptr, .sum = nullptr};
  if (sum != nullptr) {
    if (sum->dropout.active()) return false;  // its random numbers need many registers
    input = {sum->x.as<T>(), sum->past.as<T>(), sum->branch.as<T>(), sum->x.as<T>()};
  }
  if (!whole(input.past) || !whole(input.branch)) return false;
  return register_norm::with_tiles<4, 8>(columns, [&](auto tiles) {
    register_norm::forward<Kind, T, tiles.value>(exec, name, input, x.rows(), all);
  });
}

/// `sum`: is computed first and gives x, or null.
template <class Kind>
void forward(const Execution& exec, KernelName name, const ResidualSum* sum, const ConstTensor& x,
             const ConstTensor& weight, const ConstTensor& bias, const Tensor& y, float* mean, float* rstd,
             float epsilon) {
  if constexpr (!runs_on_host) {
    bool done = false;
    if (x.type() == weight.type()) {
      dispatch(x.type(), [&]<class T>(TypeTag<T>) {
        done = forward_in_registers<Kind, T>(exec, name, sum, x, weight, bias, y, mean, rstd, epsilon);
      });
    }
    if (done) return;
  }
  if (sum != nullptr) {
    residual_forward(exec, sum->past, sum->branch, sum->x, sum->dropout);
    return forward<Kind>(exec, name, nullptr, x, weight, bias, y, mean, rstd, epsilon);
  }
  dispatch_pair(x.type(), weight.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    forward_rows<Kind, T, W>(exec, name, x, weight, bias, y, mean, rstd, epsilon);
  });
}

/// Returns the sums of a block of rows: for the gradient of the weight, then for that of the bias.
template <class Kind>
KOKKOS_INLINE_FUNCTION constexpr std::int64_t block_sums(std::int64_t columns) {
  return Kind::has_bias ? 2 * columns : columns;
}

template <class Kind>
std::size_t backward_workspace(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(row_blocks_bound(rows) * block_sums<Kind>(columns)) * sizeof(float);
}

/// The tensors of a backward pass in the form that kernels use.
template <class T, class W>
struct BackwardRows {
  const T* x;
  const T* dy;
  const W* weight;
  const float* mean;
  const float* rstd;
  T* dx;
  const T* residual;  // or nullptr
  std::int64_t rows;
  std::int64_t columns;

  /// Computes dx of row r, and adds the row's terms to the sums of its block: [columns] for the weight and
  /// [columns] for the bias.
  template <class Kind, class AnyRow>
  KOKKOS_FORCEINLINE_FUNCTION void work_on(const AnyRow& row, std::int64_t r, float* weight_sums) const {
    float* const bias_sums = weight_sums + columns;
    const T* const in = x + r * columns;
    const T* const d_out = dy + r * columns;
    T* const d_in = dx + r * columns;
    const T* const past_row = residual == nullptr ? nullptr : residual + r * columns;
    const W* const factors = weight;
    const float inverse_columns = 1.0f / static_cast<float>(columns);
    const float m = Kind::has_mean ? mean[r] : 0.0f;
    const float s = rstd[r];
    const GradientSums total = Kind::gradient_sums(row, in, d_out, factors, m, s, columns);
    const float mean_g = inverse_columns * total.gradient;
    const float mean_gn = inverse_columns * total.normalized;
    row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
      float buffers[4][tile_width];
      float value[tile_width];
      const auto element = tile_values(in + first, count, buffers[0]);
      const auto gradient = tile_values(d_out + first, count, buffers[1]);
      const auto factor = tile_values(factors + first, count, buffers[2]);
      float* const result = value;
      if constexpr (runs_on_host) {
        for_each_in_tile(count, [=](std::int64_t i) {
          const float d = gradient[i];
          const float n = Kind::normalized(element[i], m, s);
          weight_sums[first + i] += d * n;
          if (Kind::has_bias) bias_sums[first + i] += d;
          result[i] = Kind::input_gradient(s, d, factor[i], n, mean_g, mean_gn);
        });
      } else {
        float term[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const float d = gradient[i];
          const float n = Kind::normalized(element[i], m, s);
          term[i] = d * n;
          value[i] = Kind::input_gradient(s, d, factor[i], n, mean_g, mean_gn);
        });
        device_tile::add(term, count, weight_sums + first);
        if (Kind::has_bias) device_tile::add(gradient, count, bias_sums + first);
      }
      if (past_row != nullptr) {
        const auto past = tile_values(past_row + first, count, buffers[3]);
        for_each_in_tile(count, [&](std::int64_t i) { value[i] += past[i]; });
      }
      write_tile(value, count, d_in + first);
    });
  }
};

/// Writes each block's sums to the workspace. The threads of a row process the rows of a block one after the
/// other.
template <class Kind, class T, class W>
void backward_by_blocks(const Execution& exec, KernelName name, const BackwardRows<T, W>& all,
                        float* workspace) {
  const std::int64_t block = rows_per_block(all.rows);
  for_each_row(
      exec, name, row_blocks(all.rows), all.columns, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t columns = all.columns;
        float* const sums = workspace + index * block_sums<Kind>(columns);
        row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
          for_each_in_tile(count, [=](std::int64_t i) {
            sums[first + i] = 0.0f;
            if (Kind::has_bias) sums[columns + first + i] = 0.0f;
          });
        });
        const std::int64_t end = launch::smaller((index + 1) * block, all.rows);
        for (std::int64_t r = index * block; r < end; ++r) {
          const std::int64_t ahead =
              (r + launch::smaller(norm_prefetch_distance, all.rows - 1 - r)) * columns;
          prefetch_tile(all.x + ahead, columns);
          prefetch_tile(all.dy + ahead, columns);
          prefetch_tile_to_write(all.dx + ahead, columns);
          all.template work_on<Kind>(row, r, sums);
        }
      });
}

/// Writes the same sums if a row is short enough for the lanes of one thread: the threads of a block process
/// its rows interleaved, and their sums, in shared memory, are added in order.
template <class Kind, class T, class W>
void backward_by_lanes(const Execution& exec, KernelName name, const BackwardRows<T, W>& all,
                       float* workspace) {
  const std::int64_t block = rows_per_block(all.rows);
  const std::int64_t sums_of_thread = block_sums<Kind>(all.columns);
  for_each_team_of_lanes(
      exec, name, row_blocks(all.rows), sums_of_thread,
      KOKKOS_LAMBDA(std::int64_t index, const LanesTeam& team) {
        const LanesRow row = team.row();
        float* const thread_sums = team.scratch(team.thread());
        row.for_each(sums_of_thread, [=](std::int64_t i) { thread_sums[i] = 0.0f; });
        const std::int64_t end = launch::smaller((index + 1) * block, all.rows);
        for (std::int64_t r = index * block + team.thread(); r < end; r += team.threads())
          all.template work_on<Kind>(row, r, thread_sums);
        team.barrier();
        float* const sums = workspace + index * sums_of_thread;
        team.for_each(sums_of_thread, [=](std::int64_t i) {
          float total = 0;
          for (int thread = 0; thread < team.threads(); ++thread) total += team.scratch(thread)[i];
          sums[i] = total;
        });
      });
}

/// Writes the same sums if the lanes of a thread can hold a row. Returns false if nothing was done.
template <class Kind, class T>
bool backward_in_registers(const Execution& exec, KernelName name, const BackwardRows<T, T>& all,
                           float* workspace) {
  const auto whole = [&](const T* first) { return first == nullptr || has_whole_tiles(first, all.columns); };
  if (!whole(all.x) || !whole(all.dy) || !whole(all.weight) || !whole(all.dx) || !whole(all.residual))
    return false;
  const register_norm::BackwardRows<T> rows{all.x,  all.dy,       all.weight, all.mean,   all.rstd,
                                            all.dx, all.residual, all.rows,   all.columns};
  return register_norm::with_tiles<3, 4>(all.columns, [&](auto tiles) {
    register_norm::backward<Kind, T, tiles.value>(exec, name, rows, workspace);
  });
}

template <class Kind, class T, class W>
void backward_rows(const Execution& exec, KernelName name, const BackwardRows<T, W>& all, float* workspace) {
  if constexpr (!runs_on_host && std::is_same_v<T, W>) {
    if (backward_in_registers<Kind>(exec, name, all, workspace)) return;
  }
  if constexpr (!runs_on_host) {
    if (threads_of_lanes(block_sums<Kind>(all.columns)) > 0)
      return backward_by_lanes<Kind>(exec, name, all, workspace);
  }
  backward_by_blocks<Kind>(exec, name, all, workspace);
}

/// Sums the blocks of backward_rows; d_bias may be empty.
template <class Kind>
void add_blocks(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                const float* workspace, const Tensor& d_weight, const Tensor& d_bias, bool accumulate) {
  const ResultVector weight_gradient(d_weight);
  const ResultVector bias_gradient(d_bias);
  sum_columns(
      exec, name, row_blocks(rows), d_bias.empty() ? columns : 2 * columns,
      KOKKOS_LAMBDA(std::int64_t block, std::int64_t first, std::int64_t count, float* value) {
        const float* sums = workspace + block * block_sums<Kind>(columns) + first;
        copy_tile(sums, count, value);
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) {
        if (column < columns) {
          weight_gradient.store(column, total, accumulate);
        } else {
          bias_gradient.store(column - columns, total, accumulate);
        }
      });
}

/// d_bias may be empty.
template <class Kind>
void backward(const Execution& exec, KernelName name, KernelName sum_name, const ConstTensor& x,
              const ConstTensor& dy, const ConstTensor& weight, const float* mean, const float* rstd,
              const Tensor& dx, const Tensor& d_weight, const Tensor& d_bias, bool accumulate,
              void* workspace, const ConstTensor& residual) {
  auto* sums = static_cast<float*>(workspace);
  dispatch_pair(x.type(), weight.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    const BackwardRows<T, W> all{x.as<T>(),
                                 dy.as<T>(),
                                 weight.as<W>(),
                                 mean,
                                 rstd,
                                 dx.as<T>(),
                                 residual.empty() ? nullptr : residual.as<T>(),
                                 x.rows(),
                                 x.columns()};
    backward_rows<Kind>(exec, name, all, sums);
  });
  add_blocks<Kind>(exec, sum_name, x.rows(), x.columns(), sums, d_weight, d_bias, accumulate);
}

}  // namespace mylos::norm_rows

// The skeleton of a normalisation over the columns of each row, forward and backward.
//
//   n = (x - mean) rstd,   y = n weight + bias,   dx = rstd (g - mean of g - n * mean of g n) + residual with
//   g = dy weight
//
// A Kind (LayerNorm, RmsNorm) says how a row is centered, and with it which of these terms there are; each of
// its functions is one expression, so that compilers contract them as they stand.
#pragma once

#include "mylos/kernels/column_sums.hpp"
#include "mylos/kernels/store.hpp"
#include "mylos/kernels/tile_values.hpp"
#include "row_blocks.hpp"
#include "row_sums.hpp"

namespace mylos::norm_rows {

/// `bias` may be empty.
template <class Kind, class T, class W>
void forward_rows(const Execution& exec, KernelName name, const Tensor& x_tensor, const Tensor& weight_tensor,
                  const Tensor& bias_tensor, const Tensor& y_tensor, float* mean, float* rstd,
                  float epsilon) {
  const T* x = x_tensor.as<T>();
  T* y = y_tensor.as<T>();
  const W* weight = weight_tensor.as<W>();
  const W* bias = bias_tensor.empty() ? nullptr : bias_tensor.as<W>();
  const std::int64_t rows = x_tensor.rows();
  const std::int64_t columns = x_tensor.columns();
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, name, rows, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
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

template <class Kind>
void forward(const Execution& exec, KernelName name, const Tensor& x, const Tensor& weight,
             const Tensor& bias, const Tensor& y, float* mean, float* rstd, float epsilon) {
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    dispatch(weight.type(), [&]<class W>(TypeTag<W>) {
      forward_rows<Kind, T, W>(exec, name, x, weight, bias, y, mean, rstd, epsilon);
    });
  });
}

/// Of a block of rows: for the gradient of the weight, and then for that of the bias.
template <class Kind>
KOKKOS_INLINE_FUNCTION constexpr std::int64_t block_sums(std::int64_t columns) {
  return Kind::has_bias ? 2 * columns : columns;
}

template <class Kind>
std::size_t backward_workspace(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(room_for_row_blocks(rows) * block_sums<Kind>(columns)) * sizeof(float);
}

/// Leaves each block's sums in the workspace.
template <class Kind, class T, class W>
void backward_rows(const Execution& exec, KernelName name, const Tensor& x_tensor, const Tensor& dy_tensor,
                   const Tensor& weight_tensor, const float* mean, const float* rstd, const Tensor& dx_tensor,
                   const Tensor& residual_tensor, float* workspace) {
  const T* x = x_tensor.as<T>();
  const T* dy = dy_tensor.as<T>();
  T* dx = dx_tensor.as<T>();
  const T* residual = residual_tensor.empty() ? nullptr : residual_tensor.as<T>();
  const W* weight = weight_tensor.as<W>();
  const std::int64_t rows = x_tensor.rows();
  const std::int64_t columns = x_tensor.columns();
  const std::int64_t block = rows_per_block(rows);
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, name, row_blocks(rows), KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        float* weight_sums = workspace + index * block_sums<Kind>(columns);
        float* bias_sums = weight_sums + columns;
        row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
          for_each_in_tile(count, [=](std::int64_t i) {
            weight_sums[first + i] = 0.0f;
            if (Kind::has_bias) bias_sums[first + i] = 0.0f;
          });
        });
        const std::int64_t end = launch::smaller((index + 1) * block, rows);
        for (std::int64_t r = index * block; r < end; ++r) {
          const T* in = x + r * columns;
          const T* d_out = dy + r * columns;
          T* d_in = dx + r * columns;
          const std::int64_t ahead = launch::smaller(norm_prefetch_distance, rows - 1 - r) * columns;
          prefetch_tile(in + ahead, columns);
          prefetch_tile(d_out + ahead, columns);
          prefetch_tile_to_write(d_in + ahead, columns);
          const float m = Kind::has_mean ? mean[r] : 0.0f;
          const float s = rstd[r];
          const GradientSums total = Kind::gradient_sums(row, in, d_out, weight, m, s, columns);
          const float mean_g = inverse_columns * total.gradient;
          const float mean_gn = inverse_columns * total.normalized;
          row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
            float buffers[4][tile_width];
            float value[tile_width];
            const auto element = tile_values(in + first, count, buffers[0]);
            const auto gradient = tile_values(d_out + first, count, buffers[1]);
            const auto factor = tile_values(weight + first, count, buffers[2]);
            float* const result = value;
            for_each_in_tile(count, [=](std::int64_t i) {
              const float d = gradient[i];
              const float n = Kind::normalized(element[i], m, s);
              weight_sums[first + i] += d * n;
              if (Kind::has_bias) bias_sums[first + i] += d;
              result[i] = Kind::input_gradient(s, d, factor[i], n, mean_g, mean_gn);
            });
            if (residual != nullptr) {
              const auto past = tile_values(residual + r * columns + first, count, buffers[3]);
              for_each_in_tile(count, [&](std::int64_t i) { value[i] += past[i]; });
            }
            write_tile(value, count, d_in + first);
          });
        }
      });
}

/// Adds up what backward_rows left; d_bias may be empty.
template <class Kind>
void add_blocks(const Execution& exec, KernelName name, std::int64_t rows, std::int64_t columns,
                const float* workspace, const Tensor& d_weight, const Tensor& d_bias, bool accumulate) {
  const ResultVector weight_gradient(d_weight);
  const ResultVector bias_gradient(d_bias);
  sum_columns(
      exec, name, row_blocks(rows), d_bias.empty() ? columns : 2 * columns,
      KOKKOS_LAMBDA(std::int64_t block, std::int64_t first, std::int64_t count, float* value) {
        const float* sums = workspace + block * block_sums<Kind>(columns) + first;
        for_each_in_tile(count, [=](std::int64_t i) { value[i] = sums[i]; });
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
void backward(const Execution& exec, KernelName name, KernelName sum_name, const Tensor& x, const Tensor& dy,
              const Tensor& weight, const float* mean, const float* rstd, const Tensor& dx,
              const Tensor& d_weight, const Tensor& d_bias, bool accumulate, void* workspace,
              const Tensor& residual) {
  auto* sums = static_cast<float*>(workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    dispatch(weight.type(), [&]<class W>(TypeTag<W>) {
      backward_rows<Kind, T, W>(exec, name, x, dy, weight, mean, rstd, dx, residual, sums);
    });
  });
  add_blocks<Kind>(exec, sum_name, x.rows(), x.columns(), sums, d_weight, d_bias, accumulate);
}

}  // namespace mylos::norm_rows

#include "mylos/kernels/layernorm.hpp"

#include "mylos/kernels/column_sums.hpp"
#include "mylos/kernels/store.hpp"
#include "mylos/kernels/tile_values.hpp"
#include "row_blocks.hpp"
#include "row_sums.hpp"

namespace mylos {
namespace {

template <class T, class W>
void forward(const Execution& exec, const Tensor& x_tensor, const Tensor& gamma_tensor,
             const Tensor& beta_tensor, const Tensor& y_tensor, float* mean, float* rstd, float epsilon) {
  const T* x = x_tensor.as<T>();
  T* y = y_tensor.as<T>();
  const W* gamma = gamma_tensor.as<W>();
  const W* beta = beta_tensor.empty() ? nullptr : beta_tensor.as<W>();
  const std::int64_t rows = x_tensor.rows();
  const std::int64_t columns = x_tensor.columns();
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, "layernorm", x_tensor.rows(), KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const T* in = x + index * columns;
        T* out = y + index * columns;
        prefetch_tile_to_write(out + launch::smaller(norm_prefetch_distance, rows - 1 - index) * columns,
                               columns);
        const float m = inverse_columns * sum(row, in, columns);
        const float variance = inverse_columns * sum_of_squares(row, in, m, columns);
        const float r = 1.0f / Kokkos::sqrt(variance + epsilon);
        row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
          float buffers[3][tile_width];
          float value[tile_width];
          const auto element = tile_values(in + first, count, buffers[0]);
          const auto factor = tile_values(gamma + first, count, buffers[1]);
          if (beta != nullptr) {
            const auto shift = tile_values(beta + first, count, buffers[2]);
            for_each_in_tile(count,
                             [&](std::int64_t i) { value[i] = (element[i] - m) * r * factor[i] + shift[i]; });
          } else {
            for_each_in_tile(count, [&](std::int64_t i) { value[i] = (element[i] - m) * r * factor[i]; });
          }
          write_tile(value, count, out + first);
        });
        row.once([=]() {
          mean[index] = m;
          rstd[index] = r;
        });
      });
}

/// Leaves in workspace, for each block of rows, its sums for dgamma and then those for dbeta.
template <class T, class W>
void backward_rows(const Execution& exec, const Tensor& x_tensor, const Tensor& dy_tensor,
                   const Tensor& gamma_tensor, const float* mean, const float* rstd, const Tensor& dx_tensor,
                   const Tensor& residual_tensor, float* workspace) {
  const T* x = x_tensor.as<T>();
  const T* dy = dy_tensor.as<T>();
  T* dx = dx_tensor.as<T>();
  const T* residual = residual_tensor.empty() ? nullptr : residual_tensor.as<T>();
  const W* gamma = gamma_tensor.as<W>();
  const std::int64_t rows = x_tensor.rows();
  const std::int64_t columns = x_tensor.columns();
  const std::int64_t block = rows_per_block(rows);
  const float inverse_columns = 1.0f / static_cast<float>(columns);
  for_each_row(
      exec, "d_layernorm", row_blocks(rows), KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        float* gamma_sums = workspace + index * 2 * columns;
        float* beta_sums = gamma_sums + columns;
        row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
          for_each_in_tile(count,
                           [=](std::int64_t i) { gamma_sums[first + i] = beta_sums[first + i] = 0.0f; });
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
          const float m = mean[r];
          const float s = rstd[r];
          const GradientSums total = gradient_sums(row, in, d_out, gamma, m, s, columns);
          const float mean_g = inverse_columns * total.gradient;
          const float mean_gn = inverse_columns * total.normalized;
          row.for_each_tile(columns, [=](std::int64_t first, std::int64_t count) {
            float buffers[4][tile_width];
            float value[tile_width];
            const auto element = tile_values(in + first, count, buffers[0]);
            const auto gradient = tile_values(d_out + first, count, buffers[1]);
            const auto factor = tile_values(gamma + first, count, buffers[2]);
            float* const result = value;
            for_each_in_tile(count, [=](std::int64_t i) {
              const float d = gradient[i];
              const float n = (element[i] - m) * s;
              gamma_sums[first + i] += d * n;
              beta_sums[first + i] += d;
              result[i] = s * (d * factor[i] - mean_g - n * mean_gn);
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

/// Adds up what backward_rows left; dbeta may be empty.
void add_blocks(const Execution& exec, std::int64_t rows, std::int64_t columns, const float* workspace,
                const Tensor& dgamma, const Tensor& dbeta, bool accumulate) {
  const ResultVector gamma_gradient(dgamma);
  const ResultVector beta_gradient(dbeta);
  sum_columns(
      exec, "d_layernorm_sum", row_blocks(rows), dbeta.empty() ? columns : 2 * columns,
      KOKKOS_LAMBDA(std::int64_t block, std::int64_t first, std::int64_t count, float* value) {
        const float* sums = workspace + block * 2 * columns + first;
        for_each_in_tile(count, [=](std::int64_t i) { value[i] = sums[i]; });
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) {
        if (column < columns) {
          gamma_gradient.store(column, total, accumulate);
        } else {
          beta_gradient.store(column - columns, total, accumulate);
        }
      });
}

}  // namespace

void layernorm_forward(const Execution& exec, const Tensor& x, const Tensor& gamma, const Tensor& beta,
                       const Tensor& y, float* mean, float* rstd, float epsilon) {
  dispatch(x.type(), [&](auto type) {
    dispatch(gamma.type(), [&](auto weight_type) {
      forward<typename decltype(type)::type, typename decltype(weight_type)::type>(exec, x, gamma, beta, y,
                                                                                   mean, rstd, epsilon);
    });
  });
}

std::size_t layernorm_backward_workspace(std::int64_t rows, std::int64_t columns) {
  return static_cast<std::size_t>(room_for_row_blocks(rows) * 2 * columns) * sizeof(float);
}

void layernorm_backward(const Execution& exec, const Tensor& x, const Tensor& dy, const Tensor& gamma,
                        const float* mean, const float* rstd, const Tensor& dx, const Tensor& dgamma,
                        const Tensor& dbeta, bool accumulate, void* workspace, const Tensor& residual) {
  auto* sums = static_cast<float*>(workspace);
  dispatch(x.type(), [&](auto type) {
    dispatch(gamma.type(), [&](auto weight_type) {
      backward_rows<typename decltype(type)::type, typename decltype(weight_type)::type>(
          exec, x, dy, gamma, mean, rstd, dx, residual, sums);
    });
  });
  add_blocks(exec, x.rows(), x.columns(), sums, dgamma, dbeta, accumulate);
}

}  // namespace mylos

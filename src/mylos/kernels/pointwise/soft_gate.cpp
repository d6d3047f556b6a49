#include "mylos/kernels/pointwise/soft_gate.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/grid/point_blocks.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/store.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

template <class T, class W>
void gate_rows(const Execution& exec, const ConstTensor& x_tensor, const ConstTensor& s_tensor,
               const ConstTensor& gate_tensor, const Tensor& y_tensor) {
  const T* x = x_tensor.as<T>();
  const T* s = s_tensor.as<T>();
  const W* gate = gate_tensor.as<W>();
  T* y = y_tensor.as<T>();
  const std::int64_t columns = x_tensor.columns();
  const PointBlocks blocks = PointBlocks::to_map(1, x_tensor.rows());
  for_each_tile(
      exec, "soft_gate", blocks.count(), columns,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float factor[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { factor[i] = to_float(gate[first + i]); });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          const std::int64_t at = (block.first_row + row) * columns + first;
          float buffers[2][tile_width];
          float value[tile_width];
          const auto through = tile_values(x + at, count, buffers[0]);
          const auto past = tile_values(s + at, count, buffers[1]);
          for_each_in_tile(count, [&](std::int64_t i) { value[i] = through[i] + factor[i] * past[i]; });
          write_tile(value, count, y + at);
        }
      });
}

/// Writes ds, and to[block] = [columns] sum of dy s over the block's rows.
template <class T, class W>
void gate_gradients(const Execution& exec, const PointBlocks& blocks, const ConstTensor& s_tensor,
                    const ConstTensor& gate_tensor, const ConstTensor& dy_tensor, const Tensor& ds_tensor,
                    bool add, float* to) {
  const T* s = s_tensor.as<T>();
  const W* gate = gate_tensor.as<W>();
  const T* dy = dy_tensor.as<T>();
  T* ds = ds_tensor.empty() ? nullptr : ds_tensor.as<T>();
  const std::int64_t columns = dy_tensor.columns();
  for_each_tile(
      exec, "d_soft_gate", blocks.count(), columns,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float factor[tile_width];
        float total[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          factor[i] = to_float(gate[first + i]);
          total[i] = 0.0f;
        });
        for (std::int64_t start = 0; start < block.rows; start += launch::rows_per_partial_sum) {
          float sum[tile_width];
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
          const std::int64_t end = launch::smaller(start + launch::rows_per_partial_sum, block.rows);
          for (std::int64_t row = start; row < end; ++row) {
            const std::int64_t at = (block.first_row + row) * columns + first;
            float buffers[2][tile_width];
            const auto past = tile_values(s + at, count, buffers[0]);
            const auto gradient = tile_values(dy + at, count, buffers[1]);
            for_each_in_tile(count, [&](std::int64_t i) { sum[i] += gradient[i] * past[i]; });
            if (ds == nullptr) continue;
            float value[tile_width];
            for_each_in_tile(count, [&](std::int64_t i) { value[i] = factor[i] * gradient[i]; });
            if (add) {
              float old_buffer[tile_width];
              const auto old = tile_values(ds + at, count, old_buffer);
              for_each_in_tile(count, [&](std::int64_t i) { value[i] += old[i]; });
            }
            write_tile(value, count, ds + at);
          }
          for_each_in_tile(count, [&](std::int64_t i) { total[i] += sum[i]; });
        }
        float* const sums = to + index * columns + first;
        for_each_in_tile(count, [&](std::int64_t i) { sums[i] = total[i]; });
      });
}

void add_blocks(const Execution& exec, std::int64_t blocks, const float* sums, const Tensor& dgate,
                bool accumulate) {
  const std::int64_t columns = dgate.columns();
  const ResultVector gradient(dgate);
  sum_columns(
      exec, "d_gate", blocks, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count, float* value) {
        const float* const from = sums + row * columns + first;
        for_each_in_tile(count, [=](std::int64_t i) { value[i] = from[i]; });
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) { gradient.store(column, total, accumulate); });
}

void check_gate(const ConstTensor& s, const ConstTensor& gate, const ConstTensor& y) {
  if (s.rows() == y.rows() && s.columns() == y.columns() && s.type() == y.type() &&
      gate.columns() == y.columns())
    return;
  fail_run(errors::internal, "soft gating of {} x {} of {} by {} factors for {} x {} of {}", s.rows(),
           s.columns(), name_of(s.type()), gate.columns(), y.rows(), y.columns(), name_of(y.type()));
}

}  // namespace

void soft_gate_forward(const Execution& exec, const ConstTensor& x, const ConstTensor& s,
                       const ConstTensor& gate, const Tensor& y) {
  check_gate(s, gate, y);
  dispatch_pair(y.type(), gate.type(),
                [&]<class T, class W>(TypeTag<T>, TypeTag<W>) { gate_rows<T, W>(exec, x, s, gate, y); });
}

std::size_t soft_gate_workspace(std::int64_t rows, std::int64_t columns) {
  // With more rows than these the blocks are longer: their number is at most that of these rows, but may be
  // smaller, and fewer rows must not need more memory.
  const std::int64_t bounded = std::min(rows, PointBlocks::min_rows * PointBlocks::max_blocks);
  const std::int64_t blocks = PointBlocks::to_sum(1, bounded).count();
  return static_cast<std::size_t>(blocks * columns) * sizeof(float);
}

void soft_gate_backward(const Execution& exec, const ConstTensor& s, const ConstTensor& gate,
                        const ConstTensor& dy, const Tensor& ds, bool add, const Tensor& dgate,
                        bool accumulate, void* workspace) {
  check_gate(s, gate, dy);
  const PointBlocks blocks = PointBlocks::to_sum(1, dy.rows());
  auto* const sums = static_cast<float*>(workspace);
  dispatch_pair(dy.type(), gate.type(), [&]<class T, class W>(TypeTag<T>, TypeTag<W>) {
    gate_gradients<T, W>(exec, blocks, s, gate, dy, ds, add, sums);
  });
  add_blocks(exec, blocks.count(), sums, dgate, accumulate);
}

}  // namespace mylos

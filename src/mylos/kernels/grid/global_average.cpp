// The average over all points of a grid: sums over blocks of points, then over the blocks.
#include "mylos/base/dispatch.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/grid/point_blocks.hpp"
#include "mylos/kernels/grid/pooling.hpp"
#include "mylos/kernels/launch/tile_values.hpp"

namespace mylos {
namespace {

void check_matrices(const GridShape& grid, const ConstTensor& points, const ConstTensor& averages) {
  if (points.rows() == averages.rows() && points.columns() == grid.columns() &&
      averages.columns() == grid.channels && points.type() == averages.type())
    return;
  fail_run(errors::internal,
           "the average over a grid's points from {} x {} of {} to {} x {} of {}: the columns must be {} and "
           "{}, rows and types equal",
           points.rows(), points.columns(), name_of(points.type()), averages.rows(), averages.columns(),
           name_of(averages.type()), grid.columns(), grid.channels);
}

/// Writes sums: [samples][blocks][channels].
template <class T>
void sum_blocks(const Execution& exec, const PointBlocks& blocks, std::int64_t channels, const T* x,
                float* sums) {
  for_each_tile(
      exec, "sum_points", blocks.count(), channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          float buffer[tile_width];
          const auto value = tile_values(x + (block.first_row + row) * channels + first, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += value[i]; });
        }
        float* const to = sums + index * channels + first;
        for_each_in_tile(count, [&](std::int64_t i) { to[i] = sum[i]; });
      });
}

template <class T>
void average_blocks(const Execution& exec, const PointBlocks& blocks, const GridShape& grid,
                    std::int64_t samples, const float* sums, T* y) {
  const std::int64_t channels = grid.channels;
  const float points = static_cast<float>(grid.points());
  for_each_tile(
      exec, "average_points", samples, channels,
      KOKKOS_LAMBDA(std::int64_t sample, std::int64_t first, std::int64_t count) {
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t block = 0; block < blocks.of_segment(); ++block) {
          const float* const part = sums + (sample * blocks.of_segment() + block) * channels + first;
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += part[i]; });
        }
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] /= points; });
        write_tile(sum, count, y + sample * channels + first);
      });
}

/// Writes sums: [samples, channels].
void add_point_blocks(const Execution& exec, const PointBlocks& blocks, std::int64_t channels,
                      std::int64_t samples, const float* parts, double* sums) {
  for_each_tile(
      exec, "add_points", samples, channels,
      KOKKOS_LAMBDA(std::int64_t sample, std::int64_t first, std::int64_t count) {
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        for (std::int64_t block = 0; block < blocks.of_segment(); ++block) {
          const float* const part = parts + (sample * blocks.of_segment() + block) * channels + first;
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += part[i]; });
        }
        double* const to = sums + sample * channels + first;
        for_each_in_tile(count, [&](std::int64_t i) { to[i] = static_cast<double>(sum[i]); });
      });
}

template <class T>
void divide_sums(const Execution& exec, std::int64_t points, std::int64_t channels, std::int64_t samples,
                 const double* sums, T* y) {
  const auto divisor = static_cast<float>(points);
  for_each_tile(
      exec, "average_boxes", samples, channels,
      KOKKOS_LAMBDA(std::int64_t sample, std::int64_t first, std::int64_t count) {
        const double* const sum = sums + sample * channels + first;
        float value[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = static_cast<float>(sum[i]) / divisor; });
        write_tile(value, count, y + sample * channels + first);
      });
}

template <class T>
void spread(const Execution& exec, const GridShape& grid, std::int64_t samples, double points, const T* dy,
            T* dx) {
  const std::int64_t channels = grid.channels;
  const PointBlocks blocks = PointBlocks::to_map(samples, grid.points());
  const float share = 1.0f / static_cast<float>(points);
  for_each_tile(
      exec, "d_average", blocks.count(), channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float buffer[tile_width];
        float value[tile_width];
        const auto gradient = tile_values(dy + block.segment * channels + first, count, buffer);
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = gradient[i] * share; });
        for (std::int64_t row = 0; row < block.rows; ++row)
          write_tile(value, count, dx + (block.first_row + row) * channels + first);
      });
}

}  // namespace

std::size_t global_average_workspace(const GridShape& grid, std::int64_t samples) {
  const std::int64_t sums = PointBlocks::to_sum(samples, grid.points()).count() * grid.channels;
  return static_cast<std::size_t>(sums) * sizeof(float);
}

void global_average_forward(const Execution& exec, const GridShape& grid, const ConstTensor& x,
                            const Tensor& y, void* workspace) {
  check_matrices(grid, x, y);
  const PointBlocks blocks = PointBlocks::to_sum(x.rows(), grid.points());
  auto* const sums = static_cast<float*>(workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) {
    sum_blocks(exec, blocks, grid.channels, x.as<T>(), sums);
    average_blocks(exec, blocks, grid, x.rows(), sums, y.as<T>());
  });
}

void global_average_backward(const Execution& exec, const GridShape& grid, const ConstTensor& dy,
                             const Tensor& dx, double points) {
  check_matrices(grid, dx, dy);
  dispatch(dy.type(),
           [&]<class T>(TypeTag<T>) { spread(exec, grid, dy.rows(), points, dy.as<T>(), dx.as<T>()); });
}

void global_sums(const Execution& exec, const GridShape& box, const ConstTensor& x, double* sums,
                 void* workspace) {
  const PointBlocks blocks = PointBlocks::to_sum(x.rows(), box.points());
  auto* const parts = static_cast<float*>(workspace);
  dispatch(x.type(), [&]<class T>(TypeTag<T>) { sum_blocks(exec, blocks, box.channels, x.as<T>(), parts); });
  add_point_blocks(exec, blocks, box.channels, x.rows(), parts, sums);
}

void average_of_sums(const Execution& exec, std::int64_t points, const double* sums, const Tensor& y) {
  dispatch(y.type(),
           [&]<class T>(TypeTag<T>) { divide_sums(exec, points, y.columns(), y.rows(), sums, y.as<T>()); });
}

}  // namespace mylos

#include "mylos/kernels/convolution/depthwise.hpp"

#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/grid/point_blocks.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/store.hpp"

namespace mylos::depthwise {
namespace {

/// Returns the taps as a box, which must have points. If there are no taps, the box is not used.
Box box_of(const Extents& taps) {
  return Box({std::max<std::int64_t>(taps[0], 1), std::max<std::int64_t>(taps[1], 1),
              std::max<std::int64_t>(taps[2], 1)});
}

std::int64_t taps_of(const Gather& gather) {
  return gather.taps[0] * gather.taps[1] * gather.taps[2];
}

/// Writes to[tap][channel] = weights[channel][tap].
template <class T>
void transpose(const Execution& exec, const T* weights, std::int64_t taps, std::int64_t channels, float* to) {
  for_each_tile(
      exec, "depthwise_taps", taps, channels,
      KOKKOS_LAMBDA(std::int64_t tap, std::int64_t first, std::int64_t count) {
        for_each_in_tile(count, [&](std::int64_t i) {
          to[tap * channels + first + i] = to_float(weights[(first + i) * taps + tap]);
        });
      });
}

/// T: type of the gathered values, R: type of the target.
template <class T, class R>
void sum_taps(const Execution& exec, const GatheredGemm& gemm, const GatheredOperands& operands,
              std::int64_t samples, const float* weights) {
  const gather::Seen from_points(gemm.gather);
  const Box taps = box_of(gemm.gather.taps);
  const Box target(gemm.target.extent);
  const Triple start = triple(gemm.first_point);
  const Triple stride = triple(gemm.stride);
  const auto* const from = static_cast<const T*>(operands.from);
  const auto* const bias = static_cast<const T*>(operands.bias);
  auto* const to = static_cast<R*>(operands.target);
  const std::int64_t channels = gemm.gather.channels;
  const bool sees = gemm.gather.columns() > 0;
  for_each_point_tile(
      exec, "depthwise", samples, GridShape{gemm.gather.targets, channels},
      KOKKOS_LAMBDA(std::int64_t sample, const Triple& point, std::int64_t, std::int64_t first,
                    std::int64_t count) {
        float sum[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
        std::int64_t tap = 0;
        Triple t{};
        for (t.value[0] = 0; sees && t[0] < taps.extent(0); ++t.value[0]) {
          for (t.value[1] = 0; t[1] < taps.extent(1); ++t.value[1]) {
            for (t.value[2] = 0; t[2] < taps.extent(2); ++t.value[2]) {
              const std::int64_t seen = from_points.point(point, t);
              const float* const weight = weights + tap * channels + first;
              ++tap;
              if (seen < 0) continue;
              float buffer[tile_width];
              const auto value = tile_values(from + (sample * from_points.points() + seen) * channels + first,
                                             count, buffer);
              for_each_in_tile(count, [&](std::int64_t i) { sum[i] += weight[i] * value[i]; });
            }
          }
        }
        if (bias != nullptr)
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] += to_float(bias[first + i]); });
        const std::int64_t row = sample * target.points() + target.index(start[0] + stride[0] * point[0],
                                                                         start[1] + stride[1] * point[1],
                                                                         start[2] + stride[2] * point[2]);
        write_tile(sum, count, to + row * channels + first);
      });
}

std::int64_t max_blocks(const Gather& gather) {
  const std::int64_t bytes = taps_of(gather) * gather.channels * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(convolution_gathered_bytes / bytes, 1, PointBlocks::max_blocks);
}

/// Returns blocks over the targets of all samples.
PointBlocks blocks_of(const Gather& gather, std::int64_t samples) {
  const std::int64_t rows = samples * gather.target_points();
  return {1, rows, std::max(PointBlocks::min_rows, launch::ceiling_quotient(rows, max_blocks(gather)))};
}

/// Writes sums[block][tap][channel].
template <class T>
void sum_blocks(const Execution& exec, const Gather& gather, std::int64_t samples, const T* from,
                const T* d_to, float* sums) {
  const gather::Seen from_points(gather);
  const Box tap_box = box_of(gather.taps);
  const Box targets(gather.targets);
  const PointBlocks blocks = blocks_of(gather, samples);
  const std::int64_t taps = taps_of(gather);
  const std::int64_t channels = gather.channels;
  const Divisor taps_in(taps);
  const Divisor sample_of(targets.points());
  for_each_tile(
      exec, "d_depthwise", blocks.count() * taps, channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const std::int64_t block_index = taps_in.quotient(index);
        const Triple tap = tap_box.point(index - block_index * taps);
        const PointBlocks::Block block = blocks.block(block_index);
        const std::int64_t first_sample = block.first_row / targets.points();
        const std::int64_t first_target = block.first_row - first_sample * targets.points();
        float total[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { total[i] = 0.0f; });
        for (std::int64_t start = 0; start < block.rows; start += launch::rows_per_partial_sum) {
          float sum[tile_width];
          for_each_in_tile(count, [&](std::int64_t i) { sum[i] = 0.0f; });
          const std::int64_t end = launch::smaller(start + launch::rows_per_partial_sum, block.rows);
          for (std::int64_t row = start; row < end; ++row) {
            const std::int64_t later = sample_of.quotient(first_target + row);
            const std::int64_t seen =
                from_points.point(targets.point(first_target + row - later * targets.points()), tap);
            if (seen < 0) continue;
            float buffers[2][tile_width];
            const auto value =
                tile_values(from + ((first_sample + later) * from_points.points() + seen) * channels + first,
                            count, buffers[0]);
            const auto gradient =
                tile_values(d_to + (block.first_row + row) * channels + first, count, buffers[1]);
            for_each_in_tile(count, [&](std::int64_t i) { sum[i] += value[i] * gradient[i]; });
          }
          for_each_in_tile(count, [&](std::int64_t i) { total[i] += sum[i]; });
        }
        float* const to = sums + index * channels + first;
        for_each_in_tile(count, [&](std::int64_t i) { to[i] = total[i]; });
      });
}

}  // namespace

std::int64_t weight_floats(const Gather& gather) {
  return taps_of(gather) * gather.channels;
}

void run(const Execution& exec, const GatheredGemm& gemm, const GatheredOperands& operands,
         std::int64_t samples, float* weights) {
  dispatch(gemm.type, [&]<class T>(TypeTag<T>) {
    if (gemm.gather.columns() > 0) {
      transpose(exec, static_cast<const T*>(operands.weights), taps_of(gemm.gather), gemm.gather.channels,
                weights);
    }
    if (gemm.target_type == gemm.type) return sum_taps<T, T>(exec, gemm, operands, samples, weights);
    sum_taps<T, float>(exec, gemm, operands, samples, weights);
  });
}

std::int64_t sum_floats(const Gather& gather, std::int64_t samples) {
  const std::int64_t rows = samples * gather.target_points();
  const std::int64_t blocks =
      std::min(launch::ceiling_quotient(rows, PointBlocks::min_rows), max_blocks(gather));
  return blocks * weight_floats(gather);
}

void sum_weights(const Execution& exec, const Gather& gather, const ConstTensor& from,
                 const ConstTensor& d_to, const Tensor& d_weights, bool accumulate, float* sums) {
  dispatch(from.type(), [&]<class T>(TypeTag<T>) {
    sum_blocks(exec, gather, from.rows(), from.as<T>(), d_to.as<T>(), sums);
  });
  const std::int64_t taps = taps_of(gather);
  const std::int64_t channels = gather.channels;
  const std::int64_t columns = taps * channels;
  const Divisor channels_of(channels);
  const ResultVector result(d_weights);
  sum_columns(
      exec, "depthwise_sums", blocks_of(gather, from.rows()).count(), columns,
      KOKKOS_LAMBDA(std::int64_t block, std::int64_t first, std::int64_t count, float* value) {
        const float* const part = sums + block * columns + first;
        for_each_in_tile(count, [=](std::int64_t i) { value[i] = part[i]; });
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) {
        const std::int64_t tap = channels_of.quotient(column);
        result.store((column - tap * channels) * taps + tap, total, accumulate);
      });
}

}  // namespace mylos::depthwise

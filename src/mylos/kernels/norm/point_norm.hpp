// The kernels of normalisations over the points of grids: over each segment of rows and group of channels.
//
// The segments of group normalisation are the samples. Batch normalisation has one segment, and each channel
// is a group. The statistics of a group are at [segment][group].
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/launch/column_sums.hpp"
#include "mylos/kernels/launch/store.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/norm/point_norm_shape.hpp"

namespace mylos::point_norm {

/// Writes to[block] = [lanes] mean of the block's rows, [lanes] sum of (x - mean)^2.
template <class T>
void block_moments(const Execution& exec, const Shape& shape, const T* x, float* to) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t lanes = shape.lanes();
  for_each_tile(
      exec, "block_moments", blocks.count(), lanes,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float mean[tile_width];
        float squares[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          mean[i] = 0.0f;
          squares[i] = 0.0f;
        });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          float buffer[tile_width];
          const auto value = tile_values(x + (block.first_row + row) * lanes + first, count, buffer);
          const float part = 1.0f / static_cast<float>(row + 1);
          for_each_in_tile(count, [&](std::int64_t i) {
            const float from_old = value[i] - mean[i];
            mean[i] += from_old * part;
            squares[i] += from_old * (value[i] - mean[i]);
          });
        }
        float* const means = to + index * 2 * lanes + first;
        for_each_in_tile(count, [&](std::int64_t i) {
          means[i] = mean[i];
          means[lanes + i] = squares[i];
        });
      });
}

/// Calls store(statistic, sum of x, sum of x^2) once for each segment and group.
template <class Store>
void add_moments(const Execution& exec, const Shape& shape, const float* moments, const Store& store) {
  const TermsOf terms(shape);
  const std::int64_t count = terms.count();
  const std::int64_t lanes = shape.lanes();
  for_each_row(
      exec, "add_moments", shape.statistics(), count, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const double sum = row.sum(count, [=](std::int64_t i) {
          const TermsOf::Term term = terms(index, i);
          return static_cast<double>(term.rows) * static_cast<double>(moments[term.at]);
        });
        const double squares = row.sum(count, [=](std::int64_t i) {
          const TermsOf::Term term = terms(index, i);
          const double mean = moments[term.at];
          return static_cast<double>(moments[term.at + lanes]) + static_cast<double>(term.rows) * mean * mean;
        });
        row.once([=]() { store(index, sum, squares); });
      });
}

/// Computes y = (x - mean) rstd gamma + beta; beta may be null.
template <class T, class W>
void apply(const Execution& exec, const Shape& shape, const T* x, const W* gamma, const W* beta,
           const float* mean, const float* rstd, T* y) {
  const PointBlocks blocks = PointBlocks::to_map(shape.segments, shape.rows);
  const std::int64_t lanes = shape.lanes();
  const LaneOf lane_of(shape);
  for_each_tile(
      exec, "point_norm", blocks.count(), lanes,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float factor[tile_width];
        float shift[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t channel = lane_of.channel(first + i);
          const std::int64_t at = lane_of.statistic(block.segment, channel);
          centre[i] = mean[at];
          scale[i] = rstd[at];
          factor[i] = to_float(gamma[channel]);
          shift[i] = beta == nullptr ? 0.0f : to_float(beta[channel]);
        });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          const std::int64_t at = (block.first_row + row) * lanes + first;
          float buffer[tile_width];
          float value[tile_width];
          const auto element = tile_values(x + at, count, buffer);
          for_each_in_tile(count, [&](std::int64_t i) {
            value[i] = (element[i] - centre[i]) * scale[i] * factor[i] + shift[i];
          });
          write_tile(value, count, y + at);
        }
      });
}

/// Writes to[block] = [lanes] sum of dy n over the block's rows, [lanes] sum of dy.
template <class T>
void block_gradients(const Execution& exec, const Shape& shape, const T* x, const T* dy, const float* mean,
                     const float* rstd, float* to) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t lanes = shape.lanes();
  const LaneOf lane_of(shape);
  for_each_tile(
      exec, "block_gradients", blocks.count(), lanes,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float total[tile_width];
        float total_normalized[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t channel = lane_of.channel(first + i);
          const std::int64_t at = lane_of.statistic(block.segment, channel);
          centre[i] = mean[at];
          scale[i] = rstd[at];
          total[i] = 0.0f;
          total_normalized[i] = 0.0f;
        });
        for (std::int64_t start = 0; start < block.rows; start += launch::rows_per_partial_sum) {
          float sum[tile_width];
          float normalized[tile_width];
          for_each_in_tile(count, [&](std::int64_t i) {
            sum[i] = 0.0f;
            normalized[i] = 0.0f;
          });
          const std::int64_t end = launch::smaller(start + launch::rows_per_partial_sum, block.rows);
          for (std::int64_t row = start; row < end; ++row) {
            const std::int64_t at = (block.first_row + row) * lanes + first;
            float buffers[2][tile_width];
            const auto element = tile_values(x + at, count, buffers[0]);
            const auto gradient = tile_values(dy + at, count, buffers[1]);
            for_each_in_tile(count, [&](std::int64_t i) {
              const float d = gradient[i];
              sum[i] += d;
              normalized[i] += d * ((element[i] - centre[i]) * scale[i]);
            });
          }
          for_each_in_tile(count, [&](std::int64_t i) {
            total[i] += sum[i];
            total_normalized[i] += normalized[i];
          });
        }
        float* const sums = to + index * 2 * lanes + first;
        for_each_in_tile(count, [&](std::int64_t i) {
          sums[i] = total_normalized[i];
          sums[lanes + i] = total[i];
        });
      });
}

/// Computes dgamma and dbeta (which may be empty) from block_gradients().
inline void add_gradients(const Execution& exec, const Shape& shape, const float* gradients,
                          const Tensor& dgamma, const Tensor& dbeta, bool accumulate) {
  const std::int64_t channels = shape.channels;
  const std::int64_t lanes = shape.lanes();
  const std::int64_t fold = shape.fold;
  const Divisor of_fold(fold);
  const ResultVector of_gamma(dgamma);
  const ResultVector of_beta(dbeta);
  sum_columns(
      exec, "norm_gradients", shape.blocks().count() * fold, dbeta.empty() ? channels : 2 * channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count, float* value) {
        const std::int64_t block = of_fold.quotient(index);
        const float* const sums = gradients + block * 2 * lanes + (index - block * fold) * channels;
        for_each_in_tile(count, [=](std::int64_t i) {
          const std::int64_t column = first + i;
          value[i] = column < channels ? sums[column] : sums[column - channels + lanes];
        });
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) {
        if (column < channels) {
          of_gamma.store(column, total, accumulate);
        } else {
          of_beta.store(column - channels, total, accumulate);
        }
      });
}

/// Calls store(statistic, sum of dy factor(channel), sum of dy n factor(channel)) once for each segment and
/// group.
template <class Factor, class Store>
void add_group_gradients(const Execution& exec, const Shape& shape, const float* gradients,
                         const Factor& factor, const Store& store) {
  const TermsOf terms(shape);
  const std::int64_t count = terms.count();
  const std::int64_t lanes = shape.lanes();
  for_each_row(
      exec, "group_gradients", shape.statistics(), count, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const auto term_at = [=](std::int64_t i, std::int64_t offset) {
          const TermsOf::Term term = terms(index, i);
          return static_cast<double>(gradients[term.at + offset]) * static_cast<double>(factor(term.channel));
        };
        const double sum = row.sum(count, [=](std::int64_t i) { return term_at(i, lanes); });
        const double normalized = row.sum(count, [=](std::int64_t i) { return term_at(i, 0); });
        row.once([=]() { store(index, sum, normalized); });
      });
}

/// Computes dx = rstd (dy gamma - mean_g - n mean_gn); dx may be dy.
template <class T, class W>
void input_gradient(const Execution& exec, const Shape& shape, const T* x, const T* dy, const W* gamma,
                    const float* mean, const float* rstd, const float* mean_g, const float* mean_gn, T* dx) {
  const PointBlocks blocks = PointBlocks::to_map(shape.segments, shape.rows);
  const std::int64_t lanes = shape.lanes();
  const LaneOf lane_of(shape);
  for_each_tile(
      exec, "d_point_norm", blocks.count(), lanes,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float factor[tile_width];
        float g[tile_width];
        float gn[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t channel = lane_of.channel(first + i);
          const std::int64_t at = lane_of.statistic(block.segment, channel);
          centre[i] = mean[at];
          scale[i] = rstd[at];
          factor[i] = to_float(gamma[channel]);
          g[i] = mean_g[at];
          gn[i] = mean_gn[at];
        });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          const std::int64_t at = (block.first_row + row) * lanes + first;
          float buffers[2][tile_width];
          float value[tile_width];
          const auto element = tile_values(x + at, count, buffers[0]);
          const auto gradient = tile_values(dy + at, count, buffers[1]);
          for_each_in_tile(count, [&](std::int64_t i) {
            const float n = (element[i] - centre[i]) * scale[i];
            value[i] = scale[i] * (gradient[i] * factor[i] - g[i] - n * gn[i]);
          });
          write_tile(value, count, dx + at);
        }
      });
}

/// The statistics of a group.
struct Statistics {
  float mean;
  float rstd;
};
KOKKOS_INLINE_FUNCTION Statistics statistics(double sum, double squares, double count, float epsilon) {
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  const double positive = variance > 0 || variance != variance ? variance : 0.0;  // NaN stays NaN
  return {static_cast<float>(mean),
          static_cast<float>(1.0 / Kokkos::sqrt(positive + static_cast<double>(epsilon)))};
}

}  // namespace mylos::point_norm

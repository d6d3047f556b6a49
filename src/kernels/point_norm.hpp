// The kernels of normalisations over the points of grids: of each segment of rows and group of channels.
//
// Group normalisation's segments are the samples; batch normalisation is one segment, and each channel a
// group. A group's statistics lie at [segment][group].
#pragma once

#include "mylos/base/tensor.hpp"
#include "mylos/kernels/column_sums.hpp"
#include "mylos/kernels/store.hpp"
#include "mylos/kernels/tile_values.hpp"
#include "point_blocks.hpp"

namespace mylos::point_norm {

struct Shape {
  std::int64_t segments;
  std::int64_t rows;  // of a segment
  std::int64_t channels;
  std::int64_t groups;

  [[nodiscard]] std::int64_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::int64_t statistics() const { return segments * groups; }
  [[nodiscard]] PointBlocks blocks() const { return PointBlocks::to_sum(segments, rows); }
  /// Of the two sums of every block's channels.
  [[nodiscard]] std::int64_t block_floats() const { return blocks().count() * 2 * channels; }
};

/// Where a channel's statistics lie.
class GroupOf {
 public:
  explicit GroupOf(const Shape& shape) : groups_(shape.groups), channels_(shape.group_channels()) {}
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t operator()(std::int64_t segment,
                                                                    std::int64_t channel) const {
    return segment * groups_ + channels_.quotient(channel);
  }

 private:
  std::int64_t groups_;
  Divisor channels_;
};

/// to[block] = [channels] mean of the block's rows, [channels] sum of (x - mean)^2.
template <class T>
void block_moments(const Execution& exec, const Shape& shape, const T* x, float* to) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t channels = shape.channels;
  for_each_tile(
      exec, "block_moments", blocks.count(), channels,
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
          const auto value = tile_values(x + (block.first_row + row) * channels + first, count, buffer);
          const float part = 1.0f / static_cast<float>(row + 1);
          for_each_in_tile(count, [&](std::int64_t i) {
            const float from_old = value[i] - mean[i];
            mean[i] += from_old * part;
            squares[i] += from_old * (value[i] - mean[i]);
          });
        }
        float* const means = to + index * 2 * channels + first;
        for_each_in_tile(count, [&](std::int64_t i) {
          means[i] = mean[i];
          means[channels + i] = squares[i];
        });
      });
}

/// store(statistic, sum of x, sum of x^2), once for each segment and group.
template <class Store>
void add_moments(const Execution& exec, const Shape& shape, const float* moments, const Store& store) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t channels = shape.channels;
  const std::int64_t group_channels = shape.group_channels();
  const Divisor channels_of(group_channels);
  const Divisor groups_of(shape.groups);
  const std::int64_t groups = shape.groups;
  const std::int64_t terms = blocks.of_segment() * group_channels;
  for_each_row(
      exec, "add_moments", shape.statistics(), terms, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t segment = groups_of.quotient(index);
        const float* const all = moments + segment * blocks.of_segment() * 2 * channels +
                                 (index - segment * groups) * group_channels;
        const auto mean_of = [=](std::int64_t term) {
          const std::int64_t block = channels_of.quotient(term);
          return all + block * 2 * channels + (term - block * group_channels);
        };
        const auto rows_of = [=](std::int64_t term) {
          return static_cast<double>(blocks.rows_of(channels_of.quotient(term)));
        };
        const double sum = row.sum(
            terms, [=](std::int64_t term) { return rows_of(term) * static_cast<double>(*mean_of(term)); });
        const double squares = row.sum(terms, [=](std::int64_t term) {
          const double mean = *mean_of(term);
          return static_cast<double>(mean_of(term)[channels]) + rows_of(term) * mean * mean;
        });
        row.once([=]() { store(index, sum, squares); });
      });
}

/// y = (x - mean) rstd gamma + beta; beta may be null.
template <class T, class W>
void apply(const Execution& exec, const Shape& shape, const T* x, const W* gamma, const W* beta,
           const float* mean, const float* rstd, T* y) {
  const PointBlocks blocks = PointBlocks::to_map(shape.segments, shape.rows);
  const std::int64_t channels = shape.channels;
  const GroupOf group_of(shape);
  for_each_tile(
      exec, "point_norm", blocks.count(), channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float factor[tile_width];
        float shift[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t at = group_of(block.segment, first + i);
          centre[i] = mean[at];
          scale[i] = rstd[at];
          factor[i] = to_float(gamma[first + i]);
          shift[i] = beta == nullptr ? 0.0f : to_float(beta[first + i]);
        });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          const std::int64_t at = (block.first_row + row) * channels + first;
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

/// to[block] = [channels] sum of dy n over the block's rows, [channels] sum of dy.
template <class T>
void block_gradients(const Execution& exec, const Shape& shape, const T* x, const T* dy, const float* mean,
                     const float* rstd, float* to) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t channels = shape.channels;
  const GroupOf group_of(shape);
  for_each_tile(
      exec, "block_gradients", blocks.count(), channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float total[tile_width];
        float total_normalized[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t at = group_of(block.segment, first + i);
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
            const std::int64_t at = (block.first_row + row) * channels + first;
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
        float* const sums = to + index * 2 * channels + first;
        for_each_in_tile(count, [&](std::int64_t i) {
          sums[i] = total_normalized[i];
          sums[channels + i] = total[i];
        });
      });
}

/// dgamma and dbeta (which may be empty) from block_gradients().
inline void add_gradients(const Execution& exec, const Shape& shape, const float* gradients,
                          const Tensor& dgamma, const Tensor& dbeta, bool accumulate) {
  const std::int64_t channels = shape.channels;
  const ResultVector of_gamma(dgamma);
  const ResultVector of_beta(dbeta);
  sum_columns(
      exec, "norm_gradients", shape.blocks().count(), dbeta.empty() ? channels : 2 * channels,
      KOKKOS_LAMBDA(std::int64_t block, std::int64_t first, std::int64_t count, float* value) {
        const float* const sums = gradients + block * 2 * channels + first;
        for_each_in_tile(count, [=](std::int64_t i) { value[i] = sums[i]; });
      },
      KOKKOS_LAMBDA(std::int64_t column, float total) {
        if (column < channels) {
          of_gamma.store(column, total, accumulate);
        } else {
          of_beta.store(column - channels, total, accumulate);
        }
      });
}

/// store(statistic, sum of dy factor(channel), sum of dy n factor(channel)), once for each segment and group.
template <class Factor, class Store>
void add_group_gradients(const Execution& exec, const Shape& shape, const float* gradients,
                         const Factor& factor, const Store& store) {
  const PointBlocks blocks = shape.blocks();
  const std::int64_t channels = shape.channels;
  const std::int64_t group_channels = shape.group_channels();
  const Divisor channels_of(group_channels);
  const Divisor groups_of(shape.groups);
  const std::int64_t groups = shape.groups;
  const std::int64_t terms = blocks.of_segment() * group_channels;
  for_each_row(
      exec, "group_gradients", shape.statistics(), terms, KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t segment = groups_of.quotient(index);
        const std::int64_t first = (index - segment * groups) * group_channels;
        const float* const all = gradients + segment * blocks.of_segment() * 2 * channels + first;
        const auto term_at = [=](std::int64_t term, std::int64_t offset) {
          const std::int64_t block = channels_of.quotient(term);
          const std::int64_t channel = term - block * group_channels;
          return static_cast<double>(all[block * 2 * channels + offset + channel]) *
                 static_cast<double>(factor(first + channel));
        };
        const double sum = row.sum(terms, [=](std::int64_t term) { return term_at(term, channels); });
        const double normalized = row.sum(terms, [=](std::int64_t term) { return term_at(term, 0); });
        row.once([=]() { store(index, sum, normalized); });
      });
}

/// dx = rstd (dy gamma - mean_g - n mean_gn); dx may be dy.
template <class T, class W>
void input_gradient(const Execution& exec, const Shape& shape, const T* x, const T* dy, const W* gamma,
                    const float* mean, const float* rstd, const float* mean_g, const float* mean_gn, T* dx) {
  const PointBlocks blocks = PointBlocks::to_map(shape.segments, shape.rows);
  const std::int64_t channels = shape.channels;
  const GroupOf group_of(shape);
  for_each_tile(
      exec, "d_point_norm", blocks.count(), channels,
      KOKKOS_LAMBDA(std::int64_t index, std::int64_t first, std::int64_t count) {
        const PointBlocks::Block block = blocks.block(index);
        float centre[tile_width];
        float scale[tile_width];
        float factor[tile_width];
        float g[tile_width];
        float gn[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) {
          const std::int64_t at = group_of(block.segment, first + i);
          centre[i] = mean[at];
          scale[i] = rstd[at];
          factor[i] = to_float(gamma[first + i]);
          g[i] = mean_g[at];
          gn[i] = mean_gn[at];
        });
        for (std::int64_t row = 0; row < block.rows; ++row) {
          const std::int64_t at = (block.first_row + row) * channels + first;
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

/// What a group's sums say of it.
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

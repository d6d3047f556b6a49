// The kernels between attention's GEMMs: they turn rows of scores into probabilities, and gradients of
// probabilities into gradients of scores, both with dropout. Of scores that a row does not see the results
// are 0.
#pragma once

#include <cmath>

#include "mylos/kernels/attention/attention_by_head.hpp"
#include "mylos/kernels/launch/math.hpp"
#include "mylos/kernels/launch/tile_values.hpp"
#include "mylos/kernels/pointwise/dropout_mask.hpp"

namespace mylos {

/// The rows of the score matrices [count][length][length] of a block.
struct ScoreRows {
  ScoreRows(const AttentionShape& shape, const HeadBlock& block, const DropoutMask& dropout)
      : length(shape.length),
        heads(shape.heads),
        head_width(shape.head_width),
        first(block.first * shape.length),
        count(block.count * shape.length),
        causal(shape.causal),
        scale(1.0f / std::sqrt(static_cast<float>(shape.head_width))),
        mask(dropout) {}

  /// Returns the average number of columns that a row sees. A device distributes its threads by it.
  [[nodiscard]] std::int64_t seen_columns() const { return causal ? length / 2 : length; }
  /// Returns the number of columns that the row of a position sees.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t seen(std::int64_t position) const {
    return causal ? position + 1 : length;
  }

  std::int64_t length;
  std::int64_t heads;  // of a sample
  std::int64_t head_width;
  std::int64_t first;  // of the batch's rows
  std::int64_t count;
  bool causal;
  float scale;  // of the scores q_i k_j
  DropoutMask mask;
};

namespace launch {

KOKKOS_FORCEINLINE_FUNCTION float largest_in_tile(const float* scores, std::int64_t count) {
  float buffer[tile_width];
  const auto score = tile_values(scores, count, buffer);
  float largest = score[0];
  for_each_in_tile(count, [&](std::int64_t j) { largest = score[j] > largest ? score[j] : largest; });
  return largest;
}

/// Returns the sum of e^(scale (score - largest)).
KOKKOS_FORCEINLINE_FUNCTION float exponentials_in_tile(const float* scores, std::int64_t count, float scale,
                                                       float largest) {
  float buffer[tile_width];
  const auto score = tile_values(scores, count, buffer);
  float sum = 0;
  for_each_in_tile(count, [&](std::int64_t j) { sum += math::exp(scale * (score[j] - largest)); });
  return sum;
}

KOKKOS_FORCEINLINE_FUNCTION void dropout_factors(const DropoutMask& mask, std::int64_t row,
                                                 std::int64_t first, std::int64_t count, float* factor) {
  if (mask.active()) {
    mask.factors(row, first, count, factor);
  } else {
    for_each_in_tile(tile_width, [&](std::int64_t j) { factor[j] = 1.0f; });
  }
}

}  // namespace launch

/// Computes weights_ij = dropout(p_ij) from scores_ij = q_i k_j, and the logs of the sums of all rows of
/// the batch. The weights may share the memory of the scores if both have the same size.
template <class T>
void find_weights(const Execution& exec, const ScoreRows& rows, const float* scores, T* weights,
                  float* log_sums) {
  for_each_row(
      exec, "attention_p", rows.count, rows.seen_columns(),
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t columns = rows.seen(index % rows.length);
        const float* const s = scores + index * rows.length;
        T* const p = weights + index * rows.length;
        const std::int64_t tiles = launch::ceiling_quotient(columns, tile_width);
        const auto seen = [=](std::int64_t tile) {
          return launch::smaller(tile_width, columns - tile * tile_width);
        };
        const float largest = row.max(tiles, [=](std::int64_t tile) {
          return launch::largest_in_tile(s + tile * tile_width, seen(tile));
        });
        const float sum = row.sum(tiles, [=](std::int64_t tile) {
          return launch::exponentials_in_tile(s + tile * tile_width, seen(tile), rows.scale, largest);
        });
        const float log_sum = rows.scale * largest + Kokkos::log(sum);
        row.once([=]() { log_sums[rows.first + index] = log_sum; });
        row.for_each_tile(rows.length, [=](std::int64_t first, std::int64_t count) {
          float value[tile_width] = {};
          if (first < columns) {
            float factor[tile_width];
            float buffer[tile_width];
            launch::dropout_factors(rows.mask, rows.first + index, first, count, factor);
            const auto score = tile_values(s + first, count, buffer);
            for_each_in_tile(count, [&](std::int64_t j) {
              value[j] = first + j < columns ? math::exp(rows.scale * score[j] - log_sum) * factor[j] : 0.0f;
            });
          }
          write_tile(value, count, p + first);
        });
      });
}

/// The operands of find_weight_gradients. They are of a block, except `log_sums` and `output`.
template <class T>
struct WeightGradients {
  const float* scores;     // q_i k_j
  const float* d_weights;  // do_i v_j
  const float* log_sums;   // of all rows of the batch
  const T* output;         // o; its rows are all tokens
  const T* d_output;       // do, head by head
  T* d_scores;             // may share the memory of scores, if of the same size
  T* weights;              // may share the memory of d_weights, if of the same size
};

/// Recomputes the weights, and computes d_scores_ij = scale p_ij (dropout(d_weights_ij) - o_i do_i), the
/// gradient with respect to q_i k_j.
template <class T>
void find_weight_gradients(const Execution& exec, const ScoreRows& rows, const WeightGradients<T>& of) {
  for_each_row(
      exec, "attention_ds", rows.count, rows.seen_columns(),
      KOKKOS_LAMBDA(std::int64_t index, const Row& row) {
        const std::int64_t position = index % rows.length;
        const std::int64_t columns = rows.seen(position);
        const std::int64_t number = rows.first + index;
        const std::int64_t head = number / rows.length;
        const float log_sum = of.log_sums[number];
        const T* const o =
            of.output +
            ((head / rows.heads * rows.length + position) * rows.heads + head % rows.heads) * rows.head_width;
        const T* const d_o = of.d_output + index * rows.head_width;
        const float mean =
            row.sum(rows.head_width, [=](std::int64_t c) { return to_float(o[c]) * to_float(d_o[c]); });
        row.for_each_tile(rows.length, [=](std::int64_t first, std::int64_t count) {
          const std::int64_t at = index * rows.length + first;
          float weight[tile_width] = {};
          float gradient[tile_width] = {};
          if (first < columns) {
            float factor[tile_width];
            float buffers[2][tile_width];
            launch::dropout_factors(rows.mask, number, first, count, factor);
            const auto score = tile_values(of.scores + at, count, buffers[0]);
            const auto d_weight = tile_values(of.d_weights + at, count, buffers[1]);
            for_each_in_tile(count, [&](std::int64_t j) {
              const bool is_seen = first + j < columns;
              const float p = is_seen ? math::exp(rows.scale * score[j] - log_sum) : 0.0f;
              weight[j] = p * factor[j];
              gradient[j] = is_seen ? rows.scale * p * (d_weight[j] * factor[j] - mean) : 0.0f;
            });
          }
          write_tile(gradient, count, of.d_scores + at);
          write_tile(weight, count, of.weights + at);
        });
      });
}

}  // namespace mylos

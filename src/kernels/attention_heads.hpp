// What both directions of attention on hosts share: heads spread over threads, rows of a head, their results.
#pragma once

#include "attention_mask.hpp"
#include "dealt_tasks.hpp"
#include "head_panels.hpp"
#include "tile_product.hpp"

namespace mylos {

/// The rows of one head (counted over all samples) in a matrix of `columns` columns; q, k and v are the parts
/// 0, 1 and 2 of qkv.
template <class T>
HeadRows<T> rows_of_head(const AttentionShape& shape, T* matrix, std::int64_t columns, std::int64_t head,
                         std::int64_t part = 0) {
  T* first = matrix + head / shape.heads * shape.length * columns + part * shape.width() +
             head % shape.heads * shape.head_width;
  return {first, columns, shape.length, shape.head_width};
}

/// target[row, c] = factor * sums[row, c] for `rows` rows from `first_row` on, rounded once. The first
/// sixteen rows should have been asked for.
template <class T>
void store_rows(const float* sums, std::int64_t stride, float factor, const HeadRows<T>& target,
                std::int64_t first_row, std::int64_t rows) {
  const std::int64_t end = std::min(first_row + rows, target.rows);
  for (std::int64_t row = first_row; row < end; ++row) {
    if ((row - first_row) % tile_rows == 0 && row + tile_rows < end) fetch_rows(target, row + tile_rows);
    const float* from = sums + (row - first_row) * stride;
    T* to = target.first + row * target.stride;
    for (std::int64_t c = 0; c < target.columns; c += lanes::count) {
      lanes::Floats values;
      lanes::load(from + c, values);
      values *= factor;
      if (c + lanes::count <= target.columns) {
        store_rounded<WordsOf<T>>(values, to + c);
      } else {
        store_some_rounded<WordsOf<T>>(values, target.columns - c, to + c);
      }
    }
  }
}

/// scale log2(e): softmax in powers of two, with which e^(scale x) = 2^(this x).
inline float binary_scale(const AttentionShape& shape) {
  return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(shape.head_width)));
}

}  // namespace mylos

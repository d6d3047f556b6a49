// The parts of a token matrix that belong to one head, copied into the formats that tile products read.
//
// Rows are padded with zeros to whole tiles of 16, columns to whole vectors of words.
#pragma once

#include <algorithm>

#include "bfloat16_words.hpp"
#include "lanes_transpose.hpp"
#include "mylos/base/arena.hpp"
#include "mylos/kernels/launch.hpp"
#include "mylos/kernels/tile_values.hpp"
#include "tile_product.hpp"

namespace mylos {

inline constexpr std::int64_t tile_rows = lanes::count;

constexpr std::int64_t padded_rows(std::int64_t rows) {
  return launch::ceiling_quotient(rows, tile_rows) * tile_rows;
}
template <class Words>
constexpr std::int64_t padded_columns(std::int64_t columns) {
  return launch::ceiling_quotient(columns, lanes::count * Words::per_word) * lanes::count * Words::per_word;
}
/// Words that hold `elements` elements.
template <class Words>
constexpr std::int64_t words_for(std::int64_t elements) {
  return launch::ceiling_quotient(elements, Words::per_word);
}

/// Some rows of one head in a matrix of tokens.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t stride;  // elements from a row to the next
  std::int64_t rows;
  std::int64_t columns;  // the head's width
};

inline constexpr std::int64_t head_rows_ahead = 16;

/// Asks for a row, if there is one: a head's rows are too far apart for the processor to see them coming.
template <class T>
[[gnu::always_inline]] inline void fetch_row(const HeadRows<T>& head, std::int64_t row) {
  if (row < head.rows) fetch_tile(head.first + row * head.stride, head.columns);
}

/// Asks for the rows that fetch_row(head, row + head_rows_ahead) at each row comes too late for.
template <class T>
void fetch_first_rows(const HeadRows<T>& head) {
  for (std::int64_t row = 0; row < head_rows_ahead; ++row) fetch_row(head, row);
}

/// Elements row by row: target[padded_rows, padded_columns].
template <class Words, class T>
void pack_rows(const HeadRows<T>& head, typename Words::Element* target) {
  const std::int64_t columns = padded_columns<Words>(head.columns);
  for (std::int64_t row = 0; row < padded_rows(head.rows); ++row) {
    fetch_row(head, row + head_rows_ahead);
    for (std::int64_t c = 0; c < columns; c += lanes::count * Words::per_word) {
      lanes::Floats words = {};
      if (row < head.rows) Words::load(head.first + row * head.stride + c, head.columns - c, words);
      std::memcpy(target + row * columns + c, &words, sizeof words);
    }
  }
}

/// Words of neighbours in a row, transposed: target[padded_columns / per_word, stride], a column for each
/// row.
template <class Words, class T>
void pack_transposed(const HeadRows<T>& head, typename Words::Word* target, std::int64_t stride) {
  for (std::int64_t row = 0; row < head.rows; row += tile_rows) {
    for (std::int64_t word = 0; word < words_for<Words>(head.columns); word += lanes::count) {
      const std::int64_t c = word * Words::per_word;
      lanes::Floats block[lanes::count];
      const std::int64_t rows = std::min<std::int64_t>(tile_rows, head.rows - row);
      for (std::int64_t r = rows; r < tile_rows; ++r) block[r] = lanes::Floats{};
      for (std::int64_t r = 0; r < rows; ++r) {
        if (word == 0) fetch_row(head, row + r + head_rows_ahead);
        Words::load(head.first + (row + r) * head.stride + c, head.columns - c, block[r]);
      }
      lanes::transpose(block);
      for (std::int64_t w = 0; w < lanes::count; ++w)
        std::memcpy(target + (word + w) * stride + row, &block[w], sizeof block[w]);
    }
  }
}

/// Words of neighbours in a column: target[padded_rows / per_word, padded_columns], from what pack_rows made.
template <class Words>
void pack_columns(const typename Words::Element* rows, std::int64_t count, std::int64_t columns,
                  typename Words::Word* target) {
  static_assert(Words::per_word == 2, "where a word is an element, rows serve as columns");
  for (std::int64_t row = 0; row < count; row += 2) {
    const auto* pair = rows + row * columns;
    for (std::int64_t c = 0; c < columns; c += lanes::count)
      interleave(pair + c, pair + columns + c, target + row / 2 * columns + c);
  }
}

/// A head's rows, and the same memory or a copy as columns.
template <class Words>
struct RowsAndColumns {
  typename Words::Element* rows;
  typename Words::Word* columns;

  template <class T>
  void pack(const HeadRows<T>& head) const {
    pack_rows<Words>(head, rows);
    if constexpr (Words::per_word == 2)
      pack_columns<Words>(rows, padded_rows(head.rows), padded_columns<Words>(head.columns), columns);
  }
  /// A from row `row` on, for `stride` columns.
  ByRows<typename Words::Word> from(std::int64_t row, std::int64_t stride) const {
    return {reinterpret_cast<const typename Words::Word*>(rows + row * stride), stride / Words::per_word};
  }
};

/// Hands out pieces of a workspace; with a null workspace it only counts bytes.
class Pieces {
 public:
  explicit Pieces(std::byte* workspace) : workspace_(workspace) {}
  template <class T>
  T* take(std::int64_t count) {
    T* piece = reinterpret_cast<T*>(workspace_ + bytes_);
    bytes_ += aligned_bytes(static_cast<std::size_t>(count) * sizeof(T));
    return piece;
  }
  template <class Words>
  RowsAndColumns<Words> take_head(std::int64_t rows, std::int64_t columns) {
    const std::int64_t elements = padded_rows(rows) * padded_columns<Words>(columns);
    auto* by_rows = take<typename Words::Element>(elements);
    if constexpr (Words::per_word == 1) {
      return {by_rows, by_rows};
    } else {
      return {by_rows, take<typename Words::Word>(elements / Words::per_word)};
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace mylos

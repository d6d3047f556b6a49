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

/// Asks for sixteen rows, or as many as there are, to read or to write them: a head's rows are too far apart
/// for the processor to see them coming. Always inlined, as fetch() is.
template <class T>
[[gnu::always_inline]] inline void fetch_rows(const HeadRows<T>& head, std::int64_t first) {
  constexpr bool writes = !std::is_const_v<T>;
  constexpr std::int64_t in_a_line = 64 / sizeof(T);
  for (std::int64_t row = first; row < std::min(first + tile_rows, head.rows); ++row) {
    for (std::int64_t c = 0; c < head.columns; c += in_a_line)
      __builtin_prefetch(head.first + row * head.stride + c, writes ? 1 : 0);
  }
}

/// At most `rows` of the head's rows from `first` on, to be asked for while something is multiplied.
template <class T>
RowsToCome rows_to_come(const HeadRows<T>& head, std::int64_t first, std::int64_t rows) {
  constexpr std::int64_t in_a_line = 64 / sizeof(T);
  return rows_to_come(head.first + first * head.stride, head.stride,
                      launch::ceiling_quotient(head.columns, in_a_line),
                      std::max<std::int64_t>(0, std::min(rows, head.rows - first)));
}

/// A head's matrix in the formats that products read. Those that are null are not wanted; where a word is an
/// element, rows serve as columns too.
template <class Words>
struct HeadFormats {
  using Word = typename Words::Word;
  typename Words::Element* rows = nullptr;  // [padded_rows, padded_columns]
  Word* columns = nullptr;     // [padded_rows / per_word, padded_columns]: words of neighbours in a column
  Word* transposed = nullptr;  // [padded_columns / per_word, stride]: words of neighbours in a row
  std::int64_t transposed_stride = 0;

  /// A by rows, from row `row` on.
  ByRows<Word> from(std::int64_t row, std::int64_t padded_columns) const {
    return {reinterpret_cast<const Word*>(rows + row * padded_columns), padded_columns / Words::per_word};
  }
};

/// Sixteen words of sixteen rows; zeros where there are none.
template <class Words, class T>
[[gnu::always_inline]] inline void load_block(const HeadRows<T>& head, std::int64_t row, std::int64_t column,
                                              lanes::Floats (&block)[tile_rows]) {
  const T* first = head.first + row * head.stride + column;
  const std::int64_t columns = head.columns - column;
  if (head.rows - row >= tile_rows && columns >= lanes::count * Words::per_word) {
#pragma GCC unroll 16
    for (int r = 0; r < tile_rows; ++r)
      Words::load(first + r * head.stride, lanes::count * Words::per_word, block[r]);
    return;
  }
  for (int r = 0; r < tile_rows; ++r) {
    block[r] = lanes::Floats{};
    if (row + r < head.rows) Words::load(first + r * head.stride, columns, block[r]);
  }
}

/// Reads the head once. Its first sixteen rows should have been asked for.
template <class Words, class T>
void pack_head(const HeadRows<T>& head, const HeadFormats<Words>& target) {
  const std::int64_t columns = padded_columns<Words>(head.columns);
  for (std::int64_t row = 0; row < head.rows; row += tile_rows) {
    fetch_rows(head, row + tile_rows);
    for (std::int64_t column = 0; column < columns; column += lanes::count * Words::per_word) {
      lanes::Floats block[tile_rows];
      load_block<Words>(head, row, column, block);
      if (target.rows != nullptr) {
        for (int r = 0; r < tile_rows; ++r)
          std::memcpy(target.rows + (row + r) * columns + column, &block[r], sizeof block[r]);
      }
      if constexpr (Words::per_word == 2) {
        for (int r = 0; r < tile_rows && target.columns != nullptr; r += 2)
          interleave(block[r], block[r + 1], target.columns + (row + r) / 2 * columns + column);
      }
      if (target.transposed != nullptr) {
        lanes::transpose(block);
        auto* words = target.transposed + column / Words::per_word * target.transposed_stride + row;
        for (int w = 0; w < lanes::count; ++w)
          std::memcpy(words + w * target.transposed_stride, &block[w], sizeof block[w]);
      }
    }
  }
}

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
  HeadFormats<Words> take_columns(std::int64_t rows, std::int64_t columns) {
    if constexpr (Words::per_word == 1) {
      return take_rows_and_columns<Words>(rows, columns);
    } else {
      HeadFormats<Words> formats;
      formats.columns =
          take<typename Words::Word>(padded_rows(rows) / Words::per_word * padded_columns<Words>(columns));
      return formats;
    }
  }
  template <class Words>
  HeadFormats<Words> take_rows_and_columns(std::int64_t rows, std::int64_t columns) {
    auto* by_rows = take<typename Words::Element>(padded_rows(rows) * padded_columns<Words>(columns));
    if constexpr (Words::per_word == 1) {
      return {by_rows, by_rows};
    } else {
      return {by_rows, take_columns<Words>(rows, columns).columns};
    }
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::byte* workspace_;
  std::size_t bytes_ = 0;
};

}  // namespace mylos

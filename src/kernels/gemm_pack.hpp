// Copies parts of a matrix into panels of words, as the tile product reads them.
#pragma once

#include <algorithm>

#include "bfloat16_words.hpp"
#include "lanes_transpose.hpp"
#include "mylos/kernels/tile_values.hpp"
#include "tile_product.hpp"

namespace mylos {

/// Words of `columns` columns: of one row, or where a word is two elements of the row and the one below it,
/// if there is one. Padded with zeros to a whole vector.
template <class Words, class T>
void pack_columns_of_row(const T* row, const T* below, std::int64_t columns, typename Words::Word* target) {
  for (std::int64_t c = 0; c < columns; c += lanes::count) {
    const std::int64_t valid = std::min<std::int64_t>(lanes::count, columns - c);
    if constexpr (Words::per_word == 1) {
      lanes::Floats words;
      Words::load(row + c, valid, words);
      std::memcpy(target + c, &words, sizeof words);
    } else {
      T padded[2][lanes::count] = {};
      const std::size_t bytes = static_cast<std::size_t>(valid) * sizeof(T);
      std::memcpy(padded[0], row + c, bytes);
      if (below != nullptr) std::memcpy(padded[1], below + c, bytes);
      interleave(padded[0], padded[1], target + c);
    }
  }
}

/// The same for as many columns as the caller's code says, and a row below.
template <class Words, int columns, class T>
void pack_columns_of_row(const T* row, const T* below, typename Words::Word* target) {
  if constexpr (Words::per_word == 1) {
#pragma GCC unroll 4
    for (int c = 0; c < columns; c += lanes::count) {
      lanes::Floats words;
      lanes::load(row + c, words);
      std::memcpy(target + c, &words, sizeof words);
    }
  } else {
    interleave_columns<columns>(row, below, target);
  }
}

/// Copies `depth` rows of as many columns as the panel has, but a last one that is no whole word. Returns the
/// rows copied.
template <class Words, int panel, class T>
std::int64_t pack_whole_rows(const T* source, std::int64_t stride, std::int64_t depth,
                             typename Words::Word* target) {
  constexpr std::int64_t per_word = Words::per_word;
  constexpr std::int64_t rows_ahead = 32;
  const auto copy = [&](std::int64_t p) {
    const T* row = source + p * stride;
    pack_columns_of_row<Words, panel>(row, row + (per_word - 1) * stride, target + p / per_word * panel);
  };
  std::int64_t p = 0;
  for (; p + per_word + rows_ahead <= depth; p += per_word) {
    for (std::int64_t ahead = 0; ahead < per_word; ++ahead)
      fetch_tile(source + (p + rows_ahead + ahead) * stride, panel);
    copy(p);
  }
  for (; p + per_word <= depth; p += per_word) copy(p);
  return p;
}

/// Copies `width` <= `panel` x `depth` elements into a panel: target[words of depth][panel]. `along_depth`:
/// neighbours in the source's memory differ in depth, else in width. The last vector and the last word are
/// padded with zeros.
template <class Words, int panel, class T>
void pack(const T* source, std::int64_t stride, bool along_depth, std::int64_t width, std::int64_t depth,
          typename Words::Word* target) {
  static_assert(panel % lanes::count == 0);
  constexpr std::int64_t per_word = Words::per_word;
  if (!along_depth) {
    const std::int64_t whole =
        width == panel ? pack_whole_rows<Words, panel>(source, stride, depth, target) : 0;
    for (std::int64_t p = whole; p < depth; p += per_word) {
      const T* row = source + p * stride;
      const T* below = p + 1 < depth ? row + stride : nullptr;
      pack_columns_of_row<Words>(row, below, width, target + p / per_word * panel);
    }
    return;
  }
  const std::int64_t words_deep = (depth + per_word - 1) / per_word;
  for (std::int64_t w = 0; w < width; w += lanes::count) {
    const std::int64_t rows = std::min<std::int64_t>(lanes::count, width - w);
    for (std::int64_t first = 0; first < words_deep; first += lanes::count) {
      lanes::Floats block[lanes::count];
      for (std::int64_t row = rows; row < lanes::count; ++row) block[row] = lanes::Floats{};
      for (std::int64_t row = 0; row < rows; ++row) {
        if (w + lanes::count + row < width)
          fetch(source + (w + lanes::count + row) * stride + first * per_word);
        Words::load(source + (w + row) * stride + first * per_word, depth - first * per_word, block[row]);
      }
      lanes::transpose(block);
      const std::int64_t count = std::min<std::int64_t>(lanes::count, words_deep - first);
      for (std::int64_t word = 0; word < count; ++word) {
        std::memcpy(target + (first + word) * panel + w, &block[word], sizeof block[word]);
      }
    }
  }
}

/// Copies `rows` x `depth` elements row by row, rows `target_stride` words apart: a multiple of lanes::count,
/// to which rows are padded with zeros. `padded` >= `rows`: rows of zeros below.
template <class Words, class T>
void copy_rows(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t padded,
               std::int64_t depth, typename Words::Word* target, std::int64_t target_stride) {
  for (std::int64_t row = 0; row < padded; ++row) {
    for (std::int64_t word = 0; word * Words::per_word < depth; word += lanes::count) {
      lanes::Floats words = {};
      const std::int64_t p = word * Words::per_word;
      if (row < rows) Words::load(source + row * stride + p, depth - p, words);
      std::memcpy(target + row * target_stride + word, &words, sizeof words);
    }
  }
}

}  // namespace mylos

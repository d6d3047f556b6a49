// Copies the part of a token matrix that belongs to one head into the formats that tile kernels read.
//
// Rows are padded with zeros to complete tiles, columns to complete vectors of words.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mylos/kernels/launch/launch.hpp"

#if defined(MYLOS_KERNELS_HEAD_PANELS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_HEAD_PANELS_INL_HPP
#undef MYLOS_KERNELS_HEAD_PANELS_INL_HPP
#else
#define MYLOS_KERNELS_HEAD_PANELS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_gemm-inl.hpp"
#include "mylos/kernels/gemm/tiles/tile_pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

/// Returns the rows that are multiplied together, which is also the size of a square on the diagonal: a
/// multiple of the register tile and of the vector length.
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t tile_rows() {
  return std::max<std::int64_t>(16, lanes());
}
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t padded_rows(std::int64_t rows) {
  return launch::ceiling_quotient(rows, tile_rows()) * tile_rows();
}
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t whole_vectors(std::int64_t columns) {
  return launch::ceiling_quotient(columns, lanes()) * lanes();
}
/// Returns the words that hold `elements` elements.
template <class Words>
constexpr std::int64_t words_for(std::int64_t elements) {
  return launch::ceiling_quotient(elements, Words::per_word);
}
template <class Words>
HWY_INLINE std::int64_t padded_columns(std::int64_t columns) {
  return whole_vectors(words_for<Words>(columns)) * Words::per_word;
}

/// Some rows of one head in a matrix of tokens.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t stride;  // elements between rows
  std::int64_t rows;
  std::int64_t columns;  // the head's width
};

/// Prefetches the existing rows of a tile, to read or to write them. The rows of a head are too far apart for
/// the hardware prefetcher.
template <class T>
HWY_INLINE void prefetch_rows(const HeadRows<T>& head, std::int64_t first) {
  constexpr bool writes = !std::is_const_v<T>;
  constexpr std::int64_t in_a_line = 64 / sizeof(T);
  for (std::int64_t row = first; row < std::min(first + tile_rows(), head.rows); ++row) {
    for (std::int64_t c = 0; c < head.columns; c += in_a_line)
      __builtin_prefetch(head.first + row * head.stride + c, writes ? 1 : 0);
  }
}

/// Returns the head's words from (row, column) on; zero after its last column and row.
template <class Words, class T>
HWY_INLINE hn::Vec<typename Words::Tag> load_words(const HeadRows<T>& head, std::int64_t row,
                                                   std::int64_t column) {
  if (row >= head.rows) return hn::Zero(typename Words::Tag());
  return Words::load_row(head.first + row * head.stride + column, head.columns - column);
}

/// Packs rows of words [padded_rows, padded_columns / per_word], as A.
template <class Words, class T>
void pack_rows(const HeadRows<T>& head, typename Words::Word* target) {
  const std::int64_t columns = padded_columns<Words>(head.columns);
  const std::int64_t step = lanes() * Words::per_word;
  for (std::int64_t row = 0; row < padded_rows(head.rows); ++row) {
    if (row % tile_rows() == 0) prefetch_rows(head, row + tile_rows());
    for (std::int64_t c = 0; c < columns; c += step, target += lanes())
      hn::StoreU(load_words<Words>(head, row, c), typename Words::Tag(), target);
  }
}

/// Packs words of neighbours in a column [padded_rows / per_word, padded_columns], as B: its steps are the
/// rows.
template <class Words, class T>
void pack_columns(const HeadRows<T>& head, typename Words::Word* target) {
  const typename Words::Tag d;
  const std::int64_t columns = padded_columns<Words>(head.columns);
  for (std::int64_t row = 0; row < padded_rows(head.rows); row += Words::per_word) {
    if (row % tile_rows() == 0) prefetch_rows(head, row + tile_rows());
    const T* first = row < head.rows ? head.first + row * head.stride : nullptr;
    const T* below = row + 1 < head.rows ? first + head.stride : nullptr;
    for (std::int64_t c = 0; c < columns; c += lanes(), target += lanes()) {
      if (first == nullptr || c >= head.columns) {
        hn::StoreU(hn::Zero(d), d, target);
      } else {
        hn::StoreU(Words::load_columns(first + c, below == nullptr ? nullptr : below + c, head.columns - c),
                   d, target);
      }
    }
  }
}

/// Packs words of neighbours in a row, transposed [padded_columns / per_word, stride], as B: its steps are
/// the columns.
template <class Words, class T>
void pack_transposed(const HeadRows<T>& head, typename Words::Word* target, std::int64_t stride) {
  for (std::int64_t row = 0; row < padded_rows(head.rows); row += lanes()) {
    if (row % tile_rows() == 0) prefetch_rows(head, row + tile_rows());
    for (std::int64_t word = 0; word < padded_columns<Words>(head.columns) / Words::per_word;
         word += lanes()) {
      const auto words = [&](std::int64_t r)
                             HWY_ATTR { return load_words<Words>(head, row + r, word * Words::per_word); };
      store_transposed(typename Words::Tag(), words, lanes(), target + word * stride + row, stride);
    }
  }
}

/// Returns the distance between words of the transposed matrix. It puts them into different cache sets.
HWY_INLINE std::int64_t transposed_stride(std::int64_t rows) {
  return padded_rows(rows) + tile_rows();
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

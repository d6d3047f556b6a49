// Copies parts of a matrix into words in the order in which the tile product reads them.
#include <algorithm>
#include <cstdint>

#include "mylos/kernels/tile_values.hpp"
#include "next_lines.hpp"

#if defined(MYLOS_KERNELS_TILE_PACK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_PACK_INL_HPP
#undef MYLOS_KERNELS_TILE_PACK_INL_HPP
#else
#define MYLOS_KERNELS_TILE_PACK_INL_HPP
#endif

#include <hwy/highway.h>

#include "tile_words-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

#if HWY_HAVE_SCALABLE
/// The words of row(0), row(1) ... row(lanes() - 1), each a vector, column by column: those of column w at
/// to + w * stride, for the first `columns` of them.
template <class D, class Row>
HWY_INLINE void store_transposed(D d, const Row& row, std::int64_t columns, hn::TFromD<D>* to,
                                 std::int64_t stride) {
  HWY_ALIGN hn::TFromD<D> rows[hn::MaxLanes(d) * hn::MaxLanes(d)];
  for (std::int64_t r = 0; r < lanes(); ++r) hn::StoreU(row(r), d, rows + r * lanes());
  const hn::RebindToSigned<D> d_index;
  const auto across = hn::Mul(hn::Iota(d_index, 0), hn::Set(d_index, static_cast<std::int32_t>(lanes())));
  for (std::int64_t w = 0; w < columns; ++w)
    hn::StoreU(hn::GatherIndex(d, rows + w, across), d, to + w * stride);
}
#else
/// The lanes of `upper` and `lower` in whose number the bit `distance` is clear, those of `lower` in the
/// place of the others of `upper`.
template <int distance, class D>
HWY_INLINE hn::Vec<D> without_bit(D d, hn::Vec<D> upper, hn::Vec<D> lower) {
  if constexpr (distance == 1) {
    return hn::InterleaveEven(d, upper, lower);
  } else if constexpr (distance == 2) {
    const hn::Repartition<std::uint64_t, D> pairs;
    return hn::BitCast(d, hn::InterleaveEven(pairs, hn::BitCast(pairs, upper), hn::BitCast(pairs, lower)));
  } else if constexpr (distance == 4) {
    return hn::InterleaveEvenBlocks(d, upper, lower);
  } else {
    return hn::ConcatLowerLower(d, lower, upper);
  }
}
/// The same for lanes in whose number it is set.
template <int distance, class D>
HWY_INLINE hn::Vec<D> with_bit(D d, hn::Vec<D> upper, hn::Vec<D> lower) {
  if constexpr (distance == 1) {
    return hn::InterleaveOdd(d, upper, lower);
  } else if constexpr (distance == 2) {
    const hn::Repartition<std::uint64_t, D> pairs;
    return hn::BitCast(d, hn::InterleaveOdd(pairs, hn::BitCast(pairs, upper), hn::BitCast(pairs, lower)));
  } else if constexpr (distance == 4) {
    return hn::InterleaveOddBlocks(d, upper, lower);
  } else {
    return hn::ConcatUpperUpper(d, lower, upper);
  }
}

/// rows[i][j] <-> rows[j][i]: lane bits and row bits change places, one after the other.
template <class D, std::size_t lanes, int distance = static_cast<int>(lanes) / 2>
HWY_INLINE void transpose(D d, hn::Vec<D> (&rows)[lanes]) {
#pragma GCC unroll 16
  for (std::size_t row = 0; row < lanes; ++row) {
    if ((row & distance) != 0) continue;
    const hn::Vec<D> upper = rows[row];
    const hn::Vec<D> lower = rows[row + distance];
    rows[row] = without_bit<distance>(d, upper, lower);
    rows[row + distance] = with_bit<distance>(d, upper, lower);
  }
  if constexpr (distance > 1) transpose<D, lanes, distance / 2>(d, rows);
}

/// The words of row(0), row(1) ... row(lanes() - 1), each a vector, column by column: those of column w at
/// to + w * stride, for the first `columns` of them.
template <class D, class Row>
HWY_INLINE void store_transposed(D d, const Row& row, std::int64_t columns, hn::TFromD<D>* to,
                                 std::int64_t stride) {
  constexpr std::size_t count = hn::MaxLanes(d);
  hn::Vec<D> rows[count];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < count; ++r) rows[r] = row(static_cast<std::int64_t>(r));
  transpose(d, rows);
#pragma GCC unroll 16
  for (std::size_t w = 0; w < count; ++w) {
    if (static_cast<std::int64_t>(w) < columns)
      hn::StoreU(rows[w], d, to + static_cast<std::int64_t>(w) * stride);
  }
}
#endif

/// Words of `width` columns and `depth` rows, at target[word of depth * target_stride + column], from a
/// matrix by rows `stride` elements apart. Columns are padded with zeros to whole vectors, the last word too.
template <class Words, class T>
void pack_columns(const T* source, std::int64_t stride, std::int64_t width, std::int64_t depth,
                  typename Words::Word* target, std::int64_t target_stride) {
  const typename Words::Tag d;
  constexpr std::int64_t per_word = Words::per_word;
  constexpr std::int64_t rows_ahead = 32;  // a short piece of each: the processor does not see them coming
  for (std::int64_t p = 0; p < depth; p += per_word) {
    const T* row = source + p * stride;
    for (std::int64_t ahead = p + rows_ahead; ahead < std::min(p + rows_ahead + per_word, depth); ++ahead)
      fetch_tile(source + ahead * stride, width);
    const T* below = p + 1 < depth ? row + stride : nullptr;
    auto* words = target + p / per_word * target_stride;
    for (std::int64_t c = 0; c < width; c += lanes()) {
      hn::StoreU(Words::load_columns(row + c, below == nullptr ? nullptr : below + c, width - c), d,
                 words + c);
    }
  }
}

/// The same words from the transposed matrix, whose neighbours in memory differ in depth.
template <class Words, class T>
void pack_transposed(const T* source, std::int64_t stride, std::int64_t width, std::int64_t depth,
                     typename Words::Word* target, std::int64_t target_stride) {
  const typename Words::Tag d;
  const std::int64_t words_deep = (depth + Words::per_word - 1) / Words::per_word;
  for (std::int64_t w = 0; w < width; w += lanes()) {
    for (std::int64_t first = 0; first < words_deep; first += lanes()) {
      const std::int64_t p = first * Words::per_word;
      const auto row = [=](std::int64_t r) HWY_ATTR {
        const T* from = source + (w + r) * stride + p;
        if (w + lanes() + r < width) fetch(from + lanes() * stride);
        return w + r < width ? Words::load_row(from, depth - p) : hn::Zero(d);
      };
      store_transposed(d, row, std::min(lanes(), words_deep - first), target + first * target_stride + w,
                       target_stride);
    }
  }
}

/// Copies `rows` x `depth` elements row by row, rows `target_stride` words apart: at least as many as padding
/// with zeros to whole vectors takes. `padded` >= `rows`: rows of zeros below.
template <class Words, class T>
void copy_rows(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t padded,
               std::int64_t depth, typename Words::Word* target, std::int64_t target_stride) {
  const typename Words::Tag d;
  for (std::int64_t row = 0; row < padded; ++row) {
    for (std::int64_t word = 0; word * Words::per_word < depth; word += lanes()) {
      const std::int64_t p = word * Words::per_word;
      const auto words = row < rows ? Words::load_row(source + row * stride + p, depth - p) : hn::Zero(d);
      hn::StoreU(words, d, target + row * target_stride + word);
    }
  }
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

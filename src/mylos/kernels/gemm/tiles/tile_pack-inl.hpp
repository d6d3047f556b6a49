// Packs parts of a matrix into words in the order in which the tile kernel reads them.
#include <algorithm>
#include <cstdint>

#include "mylos/kernels/launch/tile_values.hpp"

#if defined(MYLOS_KERNELS_TILE_PACK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_PACK_INL_HPP
#undef MYLOS_KERNELS_TILE_PACK_INL_HPP
#else
#define MYLOS_KERNELS_TILE_PACK_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_gemm-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

#if HWY_HAVE_SCALABLE
/// Stores the transpose of the vectors row(0) ... row(lanes() - 1): their words of column w at to + w *
/// stride, for the first `columns` columns.
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
/// Returns the lanes of `upper` whose index has bit `distance` clear, and in the place of the others the
/// lanes of `lower` with that bit clear.
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
/// Returns the same for lanes whose index has the bit set.
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

/// Transposes rows[i][j]: exchanges the bits of lane and row indices one after the other.
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

/// Stores the transpose of the vectors row(0) ... row(lanes() - 1): their words of column w at to + w *
/// stride, for the first `columns` columns.
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

/// Packs complete words for sizeof...(vector) vectors of columns. Returns the number of rows packed.
template <class Words, std::size_t... vector, class T>
HWY_INLINE std::int64_t pack_whole_words(std::index_sequence<vector...>, const T* source, std::int64_t stride,
                                         std::int64_t depth, typename Words::Word* target) {
  const typename Words::Tag d;
  constexpr std::int64_t per_word = Words::per_word;
  constexpr std::int64_t prefetch_distance = 32;  // rows; the hardware prefetcher ignores short runs
  const std::size_t width = sizeof...(vector) * hn::Lanes(d);
  std::int64_t p = 0;
  for (; p + per_word <= depth; p += per_word) {
    const T* row = source + p * stride;
    const T* below = row + (per_word - 1) * stride;
    for (std::int64_t ahead = prefetch_distance; ahead < prefetch_distance + per_word; ++ahead)
      prefetch_tile(row + ahead * stride, static_cast<std::int64_t>(width));
    (hn::StoreU(Words::load_columns(row + vector * hn::Lanes(d), below + vector * hn::Lanes(d), lanes()), d,
                target + vector * hn::Lanes(d)),
     ...);
    target += width;
  }
  return p;
}

/// Packs a panel of `width` columns, at most register_vectors vectors, and `depth` rows from a row-major
/// matrix: words at target[word of depth][column]. Pads columns to complete vectors and the last word with
/// zeros.
template <class Words, class T>
void pack_panel(const T* source, std::int64_t stride, std::int64_t width, std::int64_t depth,
                typename Words::Word* target) {
  const typename Words::Tag d;
  constexpr std::int64_t per_word = Words::per_word;
  const std::int64_t panel = register_vectors * lanes();
  std::int64_t p = 0;
  if (width == panel)
    p = pack_whole_words<Words>(std::make_index_sequence<register_vectors>(), source, stride, depth, target);
  for (; p < depth; p += per_word) {
    const T* row = source + p * stride;
    const T* below = p + 1 < depth ? row + stride : nullptr;
    for (std::int64_t c = 0; c < width; c += lanes()) {
      hn::StoreU(Words::load_columns(row + c, below == nullptr ? nullptr : below + c, width - c), d,
                 target + p / per_word * panel + c);
    }
  }
}

/// Packs the same panel from the transposed matrix, where neighbours in memory differ in depth.
template <class Words, class T>
void pack_panel_transposed(const T* source, std::int64_t stride, std::int64_t width, std::int64_t depth,
                           typename Words::Word* target) {
  const typename Words::Tag d;
  const std::int64_t panel = register_vectors * lanes();
  for (std::int64_t p = 0; p < depth; p += lanes() * Words::per_word) {
    for (std::int64_t w = 0; w < width; w += lanes()) {
      const T* first = source + w * stride + p;
      auto* to = target + p / Words::per_word * panel + w;
      const std::int64_t words = (depth - p + Words::per_word - 1) / Words::per_word;
      if (width - w >= lanes() && depth - p >= lanes() * Words::per_word) {
        const auto whole = [=](std::int64_t i) HWY_ATTR {
          return Words::load_row(first + i * stride, lanes() * Words::per_word);
        };
        store_transposed(d, whole, lanes(), to, panel);
      } else {
        const auto some = [=](std::int64_t i) HWY_ATTR {
          return i < width - w ? Words::load_row(first + i * stride, depth - p) : hn::Zero(d);
        };
        store_transposed(d, some, std::min(lanes(), words), to, panel);
      }
    }
  }
}

/// Copies `rows` x `depth` elements row by row, with rows `target_stride` words apart. `target_stride` must
/// have room for padding with zeros to complete vectors. Adds rows of zeros up to `padded` >= `rows`.
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

/// Copies the same rows from the transposed matrix, without the rows of zeros.
template <class Words, class T>
void copy_rows_transposed(const T* source, std::int64_t stride, std::int64_t rows, std::int64_t depth,
                          typename Words::Word* target, std::int64_t target_stride) {
  constexpr std::int64_t per_word = Words::per_word;
  const typename Words::Tag d;
  for (std::int64_t word = 0; word * per_word < depth; word += lanes()) {
    for (std::int64_t r = 0; r < rows; r += lanes()) {
      const T* first = source + word * per_word * stride + r;
      auto* to = target + r * target_stride + word;
      const std::int64_t left = depth - word * per_word;
      if (rows - r >= lanes() && left >= lanes() * per_word) {
        const auto whole = [=](std::int64_t i) HWY_ATTR {
          const T* from = first + i * per_word * stride;
          return Words::load_columns(from, from + (per_word - 1) * stride, lanes());
        };
        store_transposed(d, whole, lanes(), to, target_stride);
      } else {
        const auto some = [=](std::int64_t i) HWY_ATTR {
          const T* from = first + i * per_word * stride;
          if (i * per_word >= left) return hn::Zero(d);
          return Words::load_columns(from, i * per_word + 1 < left ? from + stride : nullptr, rows - r);
        };
        store_transposed(d, some, std::min(lanes(), rows - r), to, target_stride);
      }
    }
  }
}

/// Returns the sum of a packed row of `words` words, which is padded to complete vectors.
template <class Words>
HWY_INLINE float sum_row(const typename Words::Word* row, std::int64_t words) {
  const FloatTag d;
  const typename Words::Tag d_words;
  Floats even = hn::Zero(d), odd = even;  // independent, to hide the latency of additions
  for (std::int64_t word = 0; word < words; word += 2 * lanes()) {
    even = Words::multiply_add(Words::ones, hn::LoadU(d_words, row + word), even);
    if (word + lanes() < words)
      odd = Words::multiply_add(Words::ones, hn::LoadU(d_words, row + word + lanes()), odd);
  }
  return hn::ReduceSum(d, hn::Add(even, odd));
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

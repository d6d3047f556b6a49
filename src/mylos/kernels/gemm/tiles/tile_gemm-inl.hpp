// GEMMs of small matrices in the cache, with float sums in registers: C (+)= A B.
//
// A is stored by rows or by steps, B by steps. A step is a word of k: it multiplies a word of A by vectors of
// B's words (tile_words-inl.hpp). C's rows must be a multiple of register_rows, its columns a multiple of
// lanes().
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(MYLOS_KERNELS_TILE_GEMM_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_GEMM_INL_HPP
#undef MYLOS_KERNELS_TILE_GEMM_INL_HPP
#else
#define MYLOS_KERNELS_TILE_GEMM_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_words-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

// The register tile of C. With three vectors of B and a word of A it fits into 32 registers, or 16.
inline constexpr std::int64_t register_rows = HWY_ARCH_ARM_A64 || HWY_MAX_BYTES == 64 ? 8 : 4;
inline constexpr std::int64_t register_vectors = 3;  // or fewer at the end of a row

/// A by rows: the word of (row, step) is at row * stride + step. The memory may hold elements instead of
/// words.
template <class Word>
struct ByRows {
  const Word* words;
  std::int64_t stride;
  HWY_INLINE Word at(std::int64_t row, std::int64_t step) const {
    Word word;
    std::memcpy(&word, words + row * stride + step, sizeof word);
    return word;
  }
  ByRows from_row(std::int64_t row) const { return {words + row * stride, stride}; }
};

/// A by steps: the word of (row, step) is at step * stride + row.
template <class Word>
struct BySteps {
  const Word* words;
  std::int64_t stride;
  HWY_INLINE Word at(std::int64_t row, std::int64_t step) const { return words[step * stride + row]; }
  BySteps from_row(std::int64_t row) const { return {words + row, stride}; }
};

// The vectors of a register tile are passed as a pack of arguments, row by row: scalable vectors cannot form
// an array. These functions return the row and the column of the i-th vector.
template <int vectors>
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t row_of(std::size_t i) {
  return static_cast<std::int64_t>(i) / vectors;
}
template <int vectors>
HWY_INLINE HWY_LANES_CONSTEXPR std::int64_t column_of(std::size_t i) {
  return static_cast<std::int64_t>(i) % vectors * lanes();
}

/// A float matrix that receives results.
struct Sums {
  float* values;
  std::int64_t stride;
  bool add;  // adds to the old values

  template <int vectors, std::size_t... i, class... Sum>
  HWY_INLINE void take(std::index_sequence<i...>, Sum... sum) const {
    const FloatTag d;
    if (add) ((sum = hn::Add(sum, hn::LoadU(d, at<vectors>(i)))), ...);
    (hn::StoreU(sum, d, at<vectors>(i)), ...);
  }
  /// Returns the address of the tile's i-th vector.
  template <int vectors>
  HWY_INLINE float* at(std::size_t i) const {
    return values + row_of<vectors>(i) * stride + column_of<vectors>(i);
  }
};

template <class Words, int vectors, class A, std::size_t... i, class... Sum>
HWY_INLINE void multiply_step(std::index_sequence<i...>, const A& a, std::int64_t step,
                              const typename Words::Word* b, Sum&... sum) {
  const typename Words::Tag d;
  ((sum = Words::multiply_add(a.at(row_of<vectors>(i), step), hn::LoadU(d, b + column_of<vectors>(i)), sum)),
   ...);
}

/// Computes the register tile A[rows, steps] B[steps, vectors * lanes()] and passes it to c.take().
template <class Words, int vectors, std::int64_t rows = register_rows, class A, class Result, class... Sum>
HWY_INLINE void multiply_register_tile(std::int64_t steps, const A& a, const typename Words::Word* b,
                                       std::int64_t b_stride, const Result& c, Sum... sum) {
  if constexpr (sizeof...(Sum) < rows * vectors) {
    multiply_register_tile<Words, vectors, rows>(steps, a, b, b_stride, c, sum..., hn::Zero(FloatTag()));
  } else {
    constexpr auto tile = std::index_sequence_for<Sum...>();
    for (std::int64_t step = 0; step < steps; ++step)
      multiply_step<Words, vectors>(tile, a, step, b + step * b_stride, sum...);
    c.template take<vectors>(tile, sum...);
  }
}

/// Computes C[rows, columns] (+)= A[rows, steps] B[steps, columns].
template <class Words, class A>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const A& a,
              const typename Words::Word* b, std::int64_t b_stride, const Sums& c) {
  std::int64_t column = 0;
  const auto columns_of = [&]<int vectors>(std::integral_constant<int, vectors>) HWY_ATTR {
    for (std::int64_t row = 0; row < rows; row += register_rows) {
      multiply_register_tile<Words, vectors>(steps, a.from_row(row), b + column, b_stride,
                                             Sums{c.values + row * c.stride + column, c.stride, c.add});
    }
    column += vectors * lanes();
  };
  // Four vectors are processed as two pairs, which is faster than three and one.
  while (columns - column >= 3 * lanes() && columns - column != 4 * lanes())
    columns_of(std::integral_constant<int, 3>{});
  while (columns - column >= 2 * lanes()) columns_of(std::integral_constant<int, 2>{});
  if (column < columns) columns_of(std::integral_constant<int, 1>{});
}

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

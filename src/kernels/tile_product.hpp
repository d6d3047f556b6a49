// Products of small matrices that lie in the cache, with float sums in registers: C (+)= A B.
//
// Operands are words of 32 bits (FloatWords, Bfloat16Words): one step of the product multiplies a word of A
// with a vector of words of B.
#pragma once

#include "lanes.hpp"

namespace mylos {

// The block of C that stays in registers, as in gemm_tiles.cpp.
#if defined(__AVX512F__)
inline constexpr int product_rows = 8;
inline constexpr int product_vectors = 3;  // or fewer, at the end of a row
#else
inline constexpr int product_rows = 4;
inline constexpr int product_vectors = 1;
#endif

/// A by rows: the word of (row, step) at row * stride + step.
template <class Word>
struct ByRows {
  const Word* words;
  std::int64_t stride;
  const Word& at(std::int64_t row, std::int64_t step) const { return words[row * stride + step]; }
  ByRows from_row(std::int64_t row) const { return {words + row * stride, stride}; }
};

/// A by steps: the word of (row, step) at step * stride + row.
template <class Word>
struct BySteps {
  const Word* words;
  std::int64_t stride;
  const Word& at(std::int64_t row, std::int64_t step) const { return words[step * stride + row]; }
  BySteps from_row(std::int64_t row) const { return {words + row, stride}; }
};

/// A float matrix that results go to.
struct Sums {
  float* values;
  std::int64_t stride;
  bool add;  // to what is there
};

template <class Words, int vectors, class A>
void multiply_block(std::int64_t steps, const A& a, const typename Words::Word* b, std::int64_t b_stride,
                    const Sums& c) {
  using lanes::Floats;
  Floats sum[product_rows][vectors] = {};
  for (std::int64_t step = 0; step < steps; ++step) {
    Floats columns[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      std::memcpy(&columns[v], b + step * b_stride + v * lanes::count, sizeof(Floats));
#pragma GCC unroll 8
    for (int r = 0; r < product_rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) Words::multiply_add(sum[r][v], a.at(r, step), columns[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < product_rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* target = c.values + r * c.stride + v * lanes::count;
      if (c.add) {
        Floats before;
        lanes::load(target, before);
        sum[r][v] += before;
      }
      lanes::store(sum[r][v], target);
    }
  }
}

/// C[rows, columns] (+)= A[rows, steps] B[steps, columns], rows a multiple of product_rows, columns of
/// lanes::count.
template <class Words, class A>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const A& a,
              const typename Words::Word* b, std::int64_t b_stride, const Sums& c) {
  std::int64_t column = 0;
  const auto columns_of = [&]<int vectors>(std::integral_constant<int, vectors>) {
    for (std::int64_t row = 0; row < rows; row += product_rows) {
      multiply_block<Words, vectors>(steps, a.from_row(row), b + column, b_stride,
                                     {c.values + row * c.stride + column, c.stride, c.add});
    }
    column += vectors * lanes::count;
  };
  if constexpr (product_vectors == 1) {
    while (column < columns) columns_of(std::integral_constant<int, 1>{});
  } else {
    // Four vectors are two pairs: better than three and one.
    while (columns - column >= 3 * lanes::count && columns - column != 4 * lanes::count)
      columns_of(std::integral_constant<int, 3>{});
    while (columns - column >= 2 * lanes::count) columns_of(std::integral_constant<int, 2>{});
    if (column < columns) columns_of(std::integral_constant<int, 1>{});
  }
}

}  // namespace mylos

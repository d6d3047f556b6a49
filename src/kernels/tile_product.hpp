// Products of small matrices that lie in the cache, with float sums in registers: C (+)= A B.
//
// Operands are words of 32 bits (FloatWords, Bfloat16Words): one step of the product multiplies a word of A
// with a vector of words of B.
#pragma once

#include "lanes.hpp"
#include "next_lines.hpp"
#include "stream.hpp"

namespace mylos {

// The block of C that stays in registers: 8 rows of 3 vectors in AVX-512's 32 registers; 4 rows of one vector
// where a vector takes two or four registers.
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

/// A by rows as it lies in memory.
template <class Words, class T>
struct RowsInPlace {
  const T* first;
  std::int64_t stride;
  typename Words::Word at(std::int64_t row, std::int64_t step) const {
    typename Words::Word word;
    std::memcpy(&word, first + row * stride + step * Words::per_word, sizeof word);
    return word;
  }
  RowsInPlace from_row(std::int64_t row) const { return {first + row * stride, stride}; }
};

/// A block of C in registers.
template <int vectors>
using Block = lanes::Floats[product_rows][vectors];

template <int vectors, class Each>
inline void for_each_vector(Block<vectors>& block, const Each& each) {
#pragma GCC unroll 8
  for (int r = 0; r < product_rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) each(block[r][v], r, v * lanes::count);
  }
}

/// A float matrix that results go to.
struct Sums {
  float* values;
  std::int64_t stride;
  bool add;  // to what is there

  void fetch_target(std::int64_t) const {}  // sums of small products are in the cache already
  template <int vectors>
  void take(Block<vectors>& block) const {
    if (add) {
      for_each_vector<vectors>(block, [this](lanes::Floats& sum, int row, int column) {
        lanes::Floats before;
        lanes::load(values + row * stride + column, before);
        sum += before;
      });
    }
    for_each_vector<vectors>(block, [this](lanes::Floats& sum, int row, int column) {
      lanes::store(sum, values + row * stride + column);
    });
  }
};

/// Hands the block A B[steps, vectors * 16] to c.take().
template <class Words, int vectors, class A, class Result>
void multiply_block(std::int64_t steps, const A& a, const typename Words::Word* b, std::int64_t b_stride,
                    const Result& c, NextLines next = {}) {
  Block<vectors> sum = {};
  for (std::int64_t step = 0; step < steps; ++step) {
    // A row with every other step: all at once, they would keep what the sums need from coming.
    if (step % 2 == 0 && step < 2 * product_rows) c.fetch_target(step / 2);
    if (step < next.count) next.fetch_one();
    lanes::Floats columns[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      std::memcpy(&columns[v], b + step * b_stride + v * lanes::count, sizeof columns[v]);
#pragma GCC unroll 8
    for (int r = 0; r < product_rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) Words::multiply_add(sum[r][v], a.at(r, step), columns[v]);
    }
  }
  c.template take<vectors>(sum);
}

/// C[rows, columns] (+)= A[rows, steps] B[steps, columns], rows a multiple of product_rows, columns of
/// lanes::count. Takes from `ahead` what it can ask for meanwhile.
template <class Words, class A>
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const A& a,
              const typename Words::Word* b, std::int64_t b_stride, const Sums& c, RowsToCome ahead = {}) {
  std::int64_t column = 0;
  const auto columns_of = [&]<int vectors>(std::integral_constant<int, vectors>) {
    for (std::int64_t row = 0; row < rows; row += product_rows) {
      multiply_block<Words, vectors>(steps, a.from_row(row), b + column, b_stride,
                                     Sums{c.values + row * c.stride + column, c.stride, c.add},
                                     ahead.take(steps / ahead.lines_in_row));
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

// Operands of a tile product in bfloat16: a word is two elements, whose products AVX512-BF16 adds to a float.
// Where the processor has no such instruction, bfloat16 is multiplied as float.
#pragma once

#include <type_traits>
#include <utility>

#include "float_words.hpp"

namespace mylos {

#if defined(__AVX512BF16__)
struct Bfloat16Words {
  using Element = bfloat16;
  using Word = std::uint32_t;
  static constexpr int per_word = 2;
  static constexpr Word ones = 0x3f803f80;

  static void multiply_add(lanes::Floats& sum, Word a, const lanes::Floats& b) {
    sum = lanes::Floats(_mm512_dpbf16_ps(__m512(sum),
                                         reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(a))),
                                         reinterpret_cast<__m512bh>(b)));
  }
  static void load(const bfloat16* source, std::int64_t valid, lanes::Floats& words) {
    if (valid >= 2 * lanes::count) {
      std::memcpy(&words, source, sizeof words);
    } else {
      words = lanes::Floats{};
      if (valid > 0) std::memcpy(&words, source, static_cast<std::size_t>(valid) * sizeof(bfloat16));
    }
  }
  static void store(const lanes::Floats& values, Element* target) {
    const __m256bh rounded = _mm512_cvtneps_pbh(__m512(values));
    std::memcpy(target, &rounded, sizeof rounded);
  }
  /// Sixteen elements of two rows, and the words of neighbours in a column.
  static void store_pair(const lanes::Floats& low, const lanes::Floats& high, Element* low_target,
                         Element* high_target, Word* words) {
    const __m512bh rounded = _mm512_cvtne2ps_pbh(__m512(high), __m512(low));
    Element rows[2][lanes::count];
    std::memcpy(rows, &rounded, sizeof rows);
    std::memcpy(low_target, rows[0], sizeof rows[0]);
    std::memcpy(high_target, rows[1], sizeof rows[1]);
    const __m512i columns = _mm512_permutexvar_epi16(neighbours(), reinterpret_cast<__m512i>(rounded));
    std::memcpy(words, &columns, sizeof columns);
  }

 private:
  static __m512i neighbours() {
    using Indices = std::uint16_t __attribute__((vector_size(64)));
    constexpr Indices from = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return reinterpret_cast<__m512i>(from);
  }
};
#else
using Bfloat16Words = FloatWords;
#endif

#if defined(__AMX_BF16__)
inline constexpr bool processor_has_matrix_unit = true;
#else
inline constexpr bool processor_has_matrix_unit = false;
#endif

/// What the operands of type T are multiplied as.
template <class T>
using WordsOf =
    std::conditional_t<std::is_same_v<std::remove_const_t<T>, bfloat16>, Bfloat16Words, FloatWords>;

/// By the processor's own conversion where the words have one.
template <class Words, class Output>
void store_rounded(const lanes::Floats& value, Output* target) {
  if constexpr (std::is_same_v<Output, typename Words::Element>) {
    Words::store(value, target);
  } else {
    lanes::store(value, target);
  }
}

/// The first `valid` lanes.
template <class Words, class Output>
void store_some_rounded(const lanes::Floats& value, std::int64_t valid, Output* target) {
  Output padded[lanes::count];
  store_rounded<Words>(value, padded);
  std::memcpy(target, padded, static_cast<std::size_t>(valid) * sizeof(Output));
}

/// Words of sixteen columns of two rows: their low and high halves.
inline void interleave(const bfloat16* low, const bfloat16* high, std::uint32_t* target) {
  lanes::Shorts halves[2];
  std::memcpy(&halves[0], low, sizeof halves[0]);
  std::memcpy(&halves[1], high, sizeof halves[1]);
  const lanes::Words words = __builtin_convertvector(halves[0], lanes::Words) |
                             __builtin_convertvector(halves[1], lanes::Words) << 16;
  std::memcpy(target, &words, sizeof words);
}

/// The same for sixteen of 32 columns, from column `first` on: one instruction where vectors have 64 bytes.
template <std::size_t first, std::size_t... i>
inline void interleave_some(const bfloat16* low, const bfloat16* high, std::uint32_t* target,
                            std::index_sequence<i...>) {
  using Vector = std::uint16_t __attribute__((vector_size(64)));
  Vector rows[2];
  std::memcpy(&rows[0], low, sizeof rows[0]);
  std::memcpy(&rows[1], high, sizeof rows[1]);
  const Vector words =
      __builtin_shufflevector(rows[0], rows[1], (first + i / 2 + i % 2 * (sizeof(Vector) / 2))...);
  std::memcpy(target, &words, sizeof words);
}

/// The same for `columns` columns, a multiple of 16 and at least 32.
template <int columns>
inline void interleave_columns(const bfloat16* low, const bfloat16* high, std::uint32_t* target) {
  constexpr int step = lanes::count;
  constexpr auto all = std::make_index_sequence<2 * step>();
#pragma GCC unroll 4
  for (int c = 0; c + 2 * step <= columns; c += 2 * step) {
    interleave_some<0>(low + c, high + c, target + c, all);
    interleave_some<step>(low + c, high + c, target + c + step, all);
  }
  if constexpr (columns % (2 * step) != 0) {
    constexpr int c = columns - 2 * step;
    interleave_some<step>(low + c, high + c, target + c + step, all);
  }
}

/// The same for 32 columns of two rows in registers.
inline void interleave(const lanes::Floats& low, const lanes::Floats& high, std::uint32_t* target) {
  interleave_columns<2 * lanes::count>(reinterpret_cast<const bfloat16*>(&low),
                                       reinterpret_cast<const bfloat16*>(&high), target);
}

}  // namespace mylos

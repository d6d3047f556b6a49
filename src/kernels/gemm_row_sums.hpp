// Sums over the rows of a packed strip, while it is in the cache.
#pragma once

#include "bfloat16_words.hpp"

namespace mylos {

/// totals[rows] = the sums of a strip's rows, or totals + them; the strip lies by steps, [words][rows].
template <class Words, int rows>
void sum_rows(const typename Words::Word* strip, std::int64_t words, float* totals, bool add) {
  constexpr int vectors = rows / lanes::count;
  constexpr int at_once = 4;  // sums that do not wait for each other
  lanes::Floats sums[at_once][vectors] = {};
  const auto add_word = [strip](std::int64_t word, lanes::Floats(&sum)[vectors]) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      lanes::Floats values;
      std::memcpy(&values, strip + word * rows + v * lanes::count, sizeof values);
      Words::multiply_add(sum[v], Words::ones, values);
    }
  };
  std::int64_t word = 0;
  for (; word + at_once <= words; word += at_once) {
#pragma GCC unroll 4
    for (int i = 0; i < at_once; ++i) add_word(word + i, sums[i]);
  }
  for (; word < words; ++word) add_word(word, sums[0]);
  for (int v = 0; v < vectors; ++v) {
    float* const target = totals + v * lanes::count;
    lanes::Floats total = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
    if (add) {
      lanes::Floats before;
      lanes::load(target, before);
      total += before;
    }
    lanes::store(total, target);
  }
}

}  // namespace mylos

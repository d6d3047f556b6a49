// Operands of a tile product in float: a word is one element.
#pragma once

#include "lanes.hpp"

namespace mylos {

struct FloatWords {
  using Element = float;
  using Word = float;
  static constexpr int per_word = 1;
  static constexpr Word ones = 1.0f;

  /// sum += a * b, lane by lane.
  static void multiply_add(lanes::Floats& sum, Word a, const lanes::Floats& b) { sum += a * b; }

  /// Sixteen words from the first `valid` elements of a row; the rest are zero.
  template <class T>
  static void load(const T* source, std::int64_t valid, lanes::Floats& words) {
    if (valid >= lanes::count) {
      lanes::load(source, words);
    } else {
      lanes::load_some(source, valid < 0 ? 0 : valid, words);
    }
  }
  /// Sixteen elements.
  static void store(const lanes::Floats& values, Element* target) { lanes::store(values, target); }
};

}  // namespace mylos

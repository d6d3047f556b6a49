// Memory that is asked for while a product runs, because it is read after it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stream.hpp"

namespace mylos {

/// Fetches a line into the second-level cache, or for writing into the first. Always inlined: GCC takes a
/// function that only fetches for one without effect.
[[gnu::always_inline]] inline void fetch(const void* line) {
  __builtin_prefetch(line, 0, 2);
}
[[gnu::always_inline]] inline void fetch_to_write(const void* line) {
  __builtin_prefetch(line, 1, 3);
}

/// Parts of a matrix's rows that are read after a product, so that they can be fetched meanwhile, line by
/// line.
struct NextLines {
  const std::byte* line = nullptr;
  std::int64_t row_stride = 0;    // bytes
  std::int64_t lines_in_row = 1;  // that are wanted
  std::int64_t count = 0;         // of lines, from the first row's first on
  std::int64_t left_in_row = lines_in_row;

  /// The next line.
  [[gnu::always_inline]] void fetch_one() {
    fetch(line);
    line += line_bytes;
    if (--left_in_row == 0) {
      left_in_row = lines_in_row;
      line += row_stride - lines_in_row * static_cast<std::int64_t>(line_bytes);
    }
  }
};

/// The same rows, for several products to take their shares from.
struct RowsToCome {
  const std::byte* first = nullptr;
  std::int64_t stride = 0;  // bytes
  std::int64_t lines_in_row = 1;
  std::int64_t rows = 0;

  NextLines take(std::int64_t most_rows) {
    const std::int64_t taken = std::min(most_rows, rows);
    const NextLines lines = {first, stride, lines_in_row, taken * lines_in_row, lines_in_row};
    first += taken * stride;
    rows -= taken;
    return lines;
  }
  /// The next `most_rows`, for somebody else to take from.
  RowsToCome part(std::int64_t most_rows) {
    RowsToCome result = *this;
    result.rows = std::min(most_rows, rows);
    first += result.rows * stride;
    rows -= result.rows;
    return result;
  }
};
template <class T>
RowsToCome rows_to_come(const T* first, std::int64_t stride, std::int64_t lines_in_row, std::int64_t rows) {
  return {reinterpret_cast<const std::byte*>(first), stride * static_cast<std::int64_t>(sizeof(T)),
          lines_in_row, rows};
}

}  // namespace mylos

// How a product on hosts is cut into tasks whose operands stay in their core's own caches.
#pragma once

#include <algorithm>
#include <numeric>

#include "mylos/base/arena.hpp"
#include "mylos/kernels/gemm.hpp"
#include "tile_product.hpp"

namespace mylos {

inline constexpr std::int64_t panel_columns = product_vectors * lanes::count;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return divide_up(value, to) * to;
}
/// At least `words`, as an odd number of cache lines.
constexpr std::int64_t odd_lines(std::int64_t words) {
  return (divide_up(words, lanes::count) | 1) * lanes::count;
}

/// A task computes some strips of rows of some panels of C, chunk after chunk of k: it packs its panels of B,
/// and walks along the strips of A.
struct Tiling {
  std::int64_t chunk_words;  // of k; orders the sums, and follows from k, the form and the type alone
  std::int64_t chunks;
  std::int64_t strip_rows;
  std::int64_t strips;  // of C
  std::int64_t panels;  // of C
  std::int64_t row_tasks;
  std::int64_t column_tasks;
  bool packs_a;  // all of it, before the tasks begin: none of them copies its strips then

  [[nodiscard]] std::int64_t tasks() const { return row_tasks * column_tasks; }
  // Tasks differ by one strip and one panel at most; the first ones are the larger.
  [[nodiscard]] std::int64_t first_row(std::int64_t row_task) const {
    return divide_up(row_task * strips, row_tasks) * strip_rows;
  }
  [[nodiscard]] std::int64_t first_column(std::int64_t column_task) const {
    return divide_up(column_task * panels, column_tasks) * panel_columns;
  }
  /// Of the largest task.
  [[nodiscard]] std::int64_t task_rows() const { return divide_up(strips, row_tasks) * strip_rows; }
  [[nodiscard]] std::int64_t task_panels() const { return divide_up(panels, column_tasks); }
  /// Words from a panel to the next, and from a row to the next in a copied strip: an odd number of cache
  /// lines, so that neighbours do not fall into the same sets of the caches.
  [[nodiscard]] std::int64_t panel_stride() const { return odd_lines(chunk_words * panel_columns); }
  [[nodiscard]] std::int64_t row_stride() const { return odd_lines(chunk_words); }
  /// Where a strip's words begin in the packed A, which is by chunks.
  [[nodiscard]] std::int64_t packed_strip(std::int64_t chunk, std::int64_t strip) const {
    return (chunk * strips + strip) * chunk_words * strip_rows;
  }

  // The parts of a thread's memory, in bytes.
  [[nodiscard]] std::size_t panel_bytes() const { return bytes_of(task_panels() * panel_stride()); }
  [[nodiscard]] std::size_t strip_bytes() const { return bytes_of(strip_rows * row_stride()); }
  [[nodiscard]] std::size_t sums_bytes() const {
    return chunks == 1 ? 0 : bytes_of(task_rows() * task_panels() * panel_columns);
  }
  [[nodiscard]] std::size_t row_totals_bytes() const {
    return bytes_of(chunks == 1 ? strip_rows : task_rows());
  }
  [[nodiscard]] std::size_t thread_bytes() const {
    return panel_bytes() + strip_bytes() + sums_bytes() + row_totals_bytes();
  }

 private:
  static std::size_t bytes_of(std::int64_t words) {
    return aligned_bytes(4 * static_cast<std::size_t>(words));
  }
};

/// Of the operands.
struct Elements {
  std::int64_t bytes;
  std::int64_t per_word;  // multiplied at once
  bool are_words;         // or parts of words: what lies in memory need not be converted
};

[[nodiscard]] Tiling tile(const GemmProblem& problem, const Elements& elements, std::int64_t threads);

// At least what this problem takes and all that are smaller in m, n or k: the cut of a smaller problem may
// need more than that of a larger one.

/// Of Tiling::thread_bytes().
[[nodiscard]] std::size_t most_thread_bytes(const GemmProblem& problem, const Elements& elements);
/// Of the packed A.
[[nodiscard]] std::size_t most_packed_bytes(const GemmProblem& problem, const Elements& elements);

}  // namespace mylos

// How a product on hosts is cut into tasks whose operands stay in their core's own caches.
#pragma once

#include "mylos/base/device/pieces.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return divide_up(value, to) * to;
}
/// Of floats or words of operands.
constexpr std::size_t bytes_of_words(std::int64_t words) {
  return aligned_bytes(4 * static_cast<std::size_t>(words));
}

/// How a target multiplies operands of one type.
struct TileKernel {
  std::int64_t rows;            // of the register tile of C,
  std::int64_t columns;         // likewise, and of a panel of B
  std::int64_t vectors;         // that so many columns are
  std::int64_t strip_rows;      // of A, that are multiplied with a panel at a time: some register tiles of C
  std::int64_t chunk_words;     // of k, at most, that are summed at a time
  std::int64_t per_word;        // elements that are multiplied at once
  bool takes_rows_from_memory;  // as they lie there: elements are words or parts of words
};

/// A task computes some rows of some panels of C, chunk after chunk of k: it packs its panels of B, and walks
/// along its rows in strips.
struct Tiling {
  std::int64_t chunk_words;  // of k; orders the sums, and follows from k and the kernel alone
  std::int64_t chunks;
  std::int64_t register_tile_rows;
  std::int64_t strip_rows;
  std::int64_t strips;  // of the rows that the tasks share
  std::int64_t panel_columns;
  std::int64_t panels;  // of C
  std::int64_t row_tasks;
  std::int64_t column_tasks;
  // Words from a panel to the next, and from a copied row of A to the next: an odd number of cache lines, so
  // that neighbours do not fall into the same sets of the caches.
  std::int64_t panel_stride;
  std::int64_t row_stride;

  [[nodiscard]] std::int64_t tasks() const { return row_tasks * column_tasks; }
  // Tasks differ by one strip and one panel at most; the first ones are the larger.
  [[nodiscard]] std::int64_t first_strip(std::int64_t row_task) const {
    return divide_up(row_task * strips, row_tasks);
  }
  [[nodiscard]] std::int64_t first_panel(std::int64_t column_task) const {
    return divide_up(column_task * panels, column_tasks);
  }
  /// Of the largest task.
  [[nodiscard]] std::int64_t task_rows() const { return divide_up(strips, row_tasks) * strip_rows; }
  [[nodiscard]] std::int64_t task_panels() const { return divide_up(panels, column_tasks); }

  /// Of a strip of A in one chunk.
  [[nodiscard]] std::int64_t strip_words() const { return strip_rows * row_stride; }
};

/// What a thread works in.
template <class Word>
struct ThreadMemory {
  ThreadMemory(const Tiling& tiling, std::byte* memory) : pieces(memory) {
    panels = pieces.take<Word>(tiling.task_panels() * tiling.panel_stride);
    edge = pieces.take<Word>(tiling.register_tile_rows * tiling.row_stride);
    const bool has_sums = tiling.chunks > 1;
    sums =
        pieces.take<float>(has_sums ? tiling.task_rows() * tiling.task_panels() * tiling.panel_columns : 0);
  }

  Pieces pieces;
  Word* panels;  // of B
  Word* edge;    // rows of A at the edge of the matrix
  float* sums;   // of the chunks before this one
};

/// Whether A is rewritten before the tasks begin: transposed, converted, or so that words do not reach into
/// the next row.
[[nodiscard]] bool packs_a(const GemmProblem& problem, const TileKernel& kernel);

/// Rows of C that are computed at a time: what is packed of A takes bounded memory.
[[nodiscard]] std::int64_t rows_at_once(const GemmProblem& problem, const TileKernel& kernel);

/// For `rows` rows of the product.
[[nodiscard]] Tiling tile(const GemmProblem& problem, std::int64_t rows, const TileKernel& kernel,
                          std::int64_t threads);

// At least what this problem takes and all that are smaller in m, n or k: the cut of a smaller problem may
// need more than that of a larger one.

/// Of ThreadMemory.
[[nodiscard]] std::size_t max_thread_bytes(const GemmProblem& problem, const TileKernel& kernel);
/// Of the packed A.
[[nodiscard]] std::size_t max_packed_bytes(const GemmProblem& problem, const TileKernel& kernel);

/// What a product works in.
struct ProductMemory {
  ProductMemory(const GemmProblem& problem, const TileKernel& kernel, std::byte* workspace)
      : pieces(workspace),
        packed(pieces.take_bytes(max_packed_bytes(problem, kernel))),
        workers(pieces.take_bytes(bytes_of_workers(max_thread_bytes(problem, kernel)))) {}

  Pieces pieces;
  std::byte* packed;   // A
  std::byte* workers;  // see for_each_task()
};

}  // namespace mylos

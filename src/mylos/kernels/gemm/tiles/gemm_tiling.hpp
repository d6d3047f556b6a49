// The division of a GEMM on hosts into tasks whose operands stay in the private caches of a core.
#pragma once

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"

namespace mylos {

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return divide_up(value, to) * to;
}
/// Returns the bytes of floats or of operand words.
constexpr std::size_t bytes_of_words(std::int64_t words) {
  return aligned_bytes(4 * static_cast<std::size_t>(words));
}

/// The parameters of a target's kernel for one operand type.
struct TileKernel {
  std::int64_t rows;            // of the register tile of C
  std::int64_t columns;         // of the register tile, and of a panel of B
  std::int64_t vectors;         // the same number of columns in vectors
  std::int64_t strip_rows;      // rows of A multiplied by a panel at a time: several register tiles of C
  std::int64_t chunk_words;     // the maximum of k, in words, that is summed at a time
  std::int64_t per_word;        // elements per word
  bool takes_rows_from_memory;  // directly, without packing: elements are words or parts of words
};

/// A division into tasks. A task computes some rows of some panels of C, one chunk of k after the other: it
/// packs its panels of B and processes its rows in strips.
struct Tiling {
  std::int64_t chunk_words;  // part of k; orders the sums, and depends only on k and the kernel
  std::int64_t chunks;
  std::int64_t register_tile_rows;
  std::int64_t strip_rows;
  std::int64_t strips;  // of the rows that the tasks share
  std::int64_t panel_columns;
  std::int64_t panels;  // of C
  std::int64_t row_tasks;
  std::int64_t column_tasks;
  // The distance in words between panels, and between packed rows of A: an odd number of cache lines, so that
  // neighbours fall into different cache sets.
  std::int64_t panel_stride;
  std::int64_t row_stride;

  [[nodiscard]] std::int64_t tasks() const { return row_tasks * column_tasks; }
  // Tasks differ by at most one strip and one panel; the first tasks are the larger ones.
  [[nodiscard]] std::int64_t first_strip(std::int64_t row_task) const {
    return divide_up(row_task * strips, row_tasks);
  }
  [[nodiscard]] std::int64_t first_panel(std::int64_t column_task) const {
    return divide_up(column_task * panels, column_tasks);
  }
  /// The sizes of the largest task.
  [[nodiscard]] std::int64_t task_rows() const { return divide_up(strips, row_tasks) * strip_rows; }
  [[nodiscard]] std::int64_t task_panels() const { return divide_up(panels, column_tasks); }

  /// Returns the words of a strip of A in one chunk.
  [[nodiscard]] std::int64_t strip_words() const { return strip_rows * row_stride; }
};

/// The memory of one thread.
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
  float* sums;   // of the previous chunks
};

/// Returns true if A is copied before the tasks start: to transpose it, to convert it, or because words would
/// extend into the next row.
[[nodiscard]] bool packs_a(const GemmProblem& problem, const TileKernel& kernel);

/// Returns true for one row that is read in place, whose sums are taken in one piece, and which one thread
/// computes: to divide a small one takes longer.
[[nodiscard]] bool multiplies_one_row(const GemmProblem& problem, const TileKernel& kernel,
                                      std::int64_t threads);
/// Returns the distance in words between panels of B, for `words` words of k that are one chunk.
[[nodiscard]] std::int64_t stride_of_panels(std::int64_t words, const TileKernel& kernel);

/// Returns the rows of C that are computed at a time, so that the packed part of A takes bounded memory.
[[nodiscard]] std::int64_t rows_at_once(const GemmProblem& problem, const TileKernel& kernel);

/// Returns the tiling for `rows` rows of the GEMM.
[[nodiscard]] Tiling tile(const GemmProblem& problem, std::int64_t rows, const TileKernel& kernel,
                          std::int64_t threads);

// Upper bounds for this problem and all that are smaller in m, n or k. The tiling of a smaller problem may
// need more memory than that of a larger one.

/// Returns the bytes of ThreadMemory.
[[nodiscard]] std::size_t max_thread_bytes(const GemmProblem& problem, const TileKernel& kernel);
/// Returns the bytes of a thread that computes GEMMs of a batch: ThreadMemory and a strip of A that it packs.
[[nodiscard]] std::size_t batch_thread_bytes(const GemmProblem& problem, const TileKernel& kernel);
/// Returns the bytes of the packed A.
[[nodiscard]] std::size_t max_packed_bytes(const GemmProblem& problem, const TileKernel& kernel);

/// The workspace of a GEMM.
struct GemmMemory {
  GemmMemory(const GemmProblem& problem, const TileKernel& kernel, std::byte* workspace)
      : pieces(workspace),
        packed(pieces.take_bytes(max_packed_bytes(problem, kernel))),
        workers(pieces.take_bytes(bytes_of_workers(max_thread_bytes(problem, kernel)))) {}

  Pieces pieces;
  std::byte* packed;   // A
  std::byte* workers;  // see for_each_task()
};

}  // namespace mylos

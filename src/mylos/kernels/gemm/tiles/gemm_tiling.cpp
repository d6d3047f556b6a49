#include "mylos/kernels/gemm/tiles/gemm_tiling.hpp"

#include <algorithm>
#include <numeric>

namespace mylos {
namespace {

constexpr std::int64_t words_in_line = 16;
// The panels of a task take less than half of a second-level cache: 1 MiB with vectors of 64 bytes, 512 KiB
// with 32. Strips of A and register tiles of C only pass through.
constexpr std::int64_t max_panel_words_of_a_column = 2048;
// Without this limit, the gradients of a large vocabulary's logits would be stored twice.
constexpr std::int64_t max_packed_words = 4 << 20;
// Bounds the sums that a task with several chunks stores.
constexpr std::int64_t max_summed_rows = 1024;

constexpr std::int64_t odd_lines(std::int64_t words) {
  return (divide_up(words, words_in_line) | 1) * words_in_line;
}

std::int64_t words_of(const GemmProblem& problem, const TileKernel& kernel) {
  return divide_up(problem.k, kernel.per_word);
}
std::int64_t chunks_of(std::int64_t words, const TileKernel& kernel) {
  return divide_up(words, kernel.chunk_words);
}
/// Returns the length of a chunk. Chunks have equal lengths, except the last one.
std::int64_t chunk_of(std::int64_t words, const TileKernel& kernel) {
  return round_up(divide_up(words, chunks_of(words, kernel)), words_in_line);
}
std::int64_t max_panel_words(const TileKernel& kernel) {
  const std::int64_t whole = odd_lines(kernel.chunk_words * kernel.columns);
  return divide_up(max_panel_words_of_a_column, kernel.chunk_words) * whole;
}
/// Returns the words of a strip of A in all its chunks. It does not decrease with k.
std::int64_t packed_strip_words(const GemmProblem& problem, const TileKernel& kernel) {
  const std::int64_t words = words_of(problem, kernel);
  return kernel.strip_rows * (words + 3 * words_in_line * chunks_of(words, kernel));
}

/// Returns the time of the slowest thread in cycles per word of k: two vector multiplications per cycle, and
/// the cost of copying (measured on a processor with AVX512-BF16).
double estimate(const Tiling& tiling, const TileKernel& kernel, std::int64_t threads) {
  const auto turns = static_cast<double>(divide_up(tiling.tasks(), threads));
  const auto rows = static_cast<double>(tiling.task_rows());
  const auto panels = static_cast<double>(tiling.task_panels());
  const auto vectors = static_cast<double>(kernel.vectors);
  return turns * (0.5 * vectors * rows * panels + 16 * panels + 0.4 * rows);
}

}  // namespace

bool packs_a(const GemmProblem& problem, const TileKernel& kernel) {
  return problem.transpose_a || !kernel.takes_rows_from_memory || problem.k % kernel.per_word != 0;
}

bool multiplies_one_row(const GemmProblem& problem, const TileKernel& kernel, std::int64_t threads) {
  constexpr std::int64_t few_weights = 1 << 16;  // a second-level cache holds them
  return (threads == 1 || problem.k * problem.n <= few_weights) && problem.m == 1 && !problem.row_sums &&
         !packs_a(problem, kernel) && problem.k <= kernel.chunk_words * kernel.per_word;
}

std::int64_t stride_of_panels(std::int64_t words, const TileKernel& kernel) {
  return odd_lines(round_up(words, words_in_line) * kernel.columns);
}

std::int64_t rows_at_once(const GemmProblem& problem, const TileKernel& kernel) {
  if (!packs_a(problem, kernel)) return problem.m;
  return kernel.strip_rows *
         std::max<std::int64_t>(1, max_packed_words / packed_strip_words(problem, kernel));
}

Tiling tile(const GemmProblem& problem, std::int64_t rows, const TileKernel& kernel, std::int64_t threads) {
  Tiling tiling{};
  const std::int64_t words = words_of(problem, kernel);
  tiling.chunk_words = chunk_of(words, kernel);
  tiling.chunks = divide_up(words, tiling.chunk_words);
  tiling.register_tile_rows = kernel.rows;
  tiling.strip_rows = kernel.strip_rows;
  tiling.strips = divide_up(rows, tiling.strip_rows);
  tiling.panel_columns = kernel.columns;
  tiling.panels = divide_up(problem.n, kernel.columns);
  tiling.panel_stride = stride_of_panels(tiling.chunk_words, kernel);
  tiling.row_stride = odd_lines(tiling.chunk_words);
  const std::int64_t max_panels = max_panel_words(kernel) / tiling.panel_stride;
  const std::int64_t min_row_tasks = tiling.chunks == 1 ? 1 : divide_up(rows, max_summed_rows);

  Tiling best{};
  const auto consider = [&](std::int64_t row_tasks, std::int64_t column_tasks) {
    tiling.row_tasks = row_tasks;
    tiling.column_tasks = column_tasks;
    if (best.tasks() == 0 || estimate(tiling, kernel, threads) < estimate(best, kernel, threads))
      best = tiling;
  };
  for (std::int64_t more = 0; more < 2 * threads; ++more) {
    const std::int64_t row_tasks = std::min(min_row_tasks + more, tiling.strips);
    // The minimum number of panel groups that fit the cache, and the minimum that gives all threads equal
    // task counts.
    const std::int64_t min_groups = divide_up(tiling.panels, max_panels);
    consider(row_tasks, min_groups);
    consider(row_tasks,
             std::min(tiling.panels, round_up(min_groups, threads / std::gcd(threads, row_tasks))));
  }
  return best;
}

std::size_t max_thread_bytes(const GemmProblem& problem, const TileKernel& kernel) {
  const std::int64_t words = words_of(problem, kernel);
  const std::int64_t max_chunk = round_up(std::min(words, kernel.chunk_words), words_in_line);
  const std::int64_t panels = divide_up(problem.n, kernel.columns);
  const std::int64_t panel_words =
      std::min(panels * odd_lines(max_chunk * kernel.columns), max_panel_words(kernel));
  const std::size_t packed = bytes_of_words(panel_words) + bytes_of_words(kernel.rows * odd_lines(max_chunk));
  if (words <= kernel.chunk_words) return packed;
  // The smallest chunks, and hence the most panels per task, occur just above the length of a single chunk.
  const std::int64_t max_panels =
      max_panel_words(kernel) / odd_lines(chunk_of(kernel.chunk_words + 1, kernel) * kernel.columns);
  const std::int64_t rows =
      std::min(round_up(problem.m, kernel.strip_rows), max_summed_rows + kernel.strip_rows);
  return packed + bytes_of_words(rows * std::min(panels, max_panels) * kernel.columns);
}

std::size_t batch_thread_bytes(const GemmProblem& problem, const TileKernel& kernel) {
  const std::int64_t words = std::min(words_of(problem, kernel), kernel.chunk_words);
  return max_thread_bytes(problem, kernel) +
         bytes_of_words(kernel.strip_rows * odd_lines(round_up(words, words_in_line)));
}

std::size_t max_packed_bytes(const GemmProblem& problem, const TileKernel& kernel) {
  // A k that is not a multiple of a word requires packing, but a larger k may not.
  if (!problem.transpose_a && kernel.takes_rows_from_memory && kernel.per_word == 1) return 0;
  const std::int64_t strip = packed_strip_words(problem, kernel);
  const std::int64_t strips = divide_up(problem.m, kernel.strip_rows);
  return bytes_of_words(std::min(strips * strip, std::max(max_packed_words, strip)));
}

}  // namespace mylos

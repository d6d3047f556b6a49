#include "gemm_tiling.hpp"

#include "bfloat16_words.hpp"
#include "gemm_engines.hpp"

namespace mylos {
namespace {

// Chunks are shorter where strips of A are copied: more panels fit the cache then, and share the copy.
constexpr std::int64_t most_words_in_place = 1024;
constexpr std::int64_t most_words_copied = 512;
// A task's panels take less than half of a second-level cache of 1 MiB; strips of A and blocks of C pass by.
constexpr std::int64_t most_panel_bytes = 400 << 10;
// A that is turned is packed once for all tasks where it does not fit what panels leave of that cache and
// about as many tasks of columns as this would copy it, if that takes no more memory than this: it saves a
// twentieth of a product in float, less in bfloat16.
constexpr std::int64_t least_packed_bytes = 512 << 10;
constexpr std::int64_t least_packed_tasks = 4;
constexpr std::size_t most_memory_to_pack = std::size_t{16} << 20;
// Bounds the sums of a task that walks along several chunks.
constexpr std::int64_t most_summed_rows = 1024;

/// Follows from the form and the type alone.
std::int64_t most_chunk_words(const GemmProblem& problem, const Elements& elements) {
  return elements.are_words && !problem.transpose_a ? most_words_in_place : most_words_copied;
}

/// Of a chunk of this problem or of a smaller one.
std::int64_t widest_chunk(const GemmProblem& problem, const Elements& elements) {
  const std::int64_t words = divide_up(problem.k, elements.per_word);
  return round_up(std::min(words, most_chunk_words(problem, elements)), lanes::count);
}

/// Fewer rows, columns or words of k never turn this from false to true.
bool is_worth_packing_a(const GemmProblem& problem, const Elements& elements) {
  const std::int64_t panels = divide_up(problem.n, panel_columns);
  const std::int64_t words_of_b = panels * odd_lines(widest_chunk(problem, elements) * panel_columns);
  return problem.transpose_a && problem.m * problem.k * elements.bytes >= least_packed_bytes &&
         4 * words_of_b >= least_packed_tasks * most_panel_bytes;
}

/// At least what the packed A takes, and never less for a larger problem.
std::size_t bytes_to_pack_a(const GemmProblem& problem, const Elements& elements) {
  const std::int64_t words = divide_up(problem.k, elements.per_word);
  const std::int64_t chunks = divide_up(words, most_chunk_words(problem, elements));
  const std::int64_t strip = static_cast<std::int64_t>(line_bytes) / elements.bytes;
  const std::int64_t padded_words = words + chunks * lanes::count;
  return aligned_bytes(4 * static_cast<std::size_t>(round_up(problem.m, strip) * padded_words));
}

/// Time of the longest thread, in cycles for each word of k: two multiplications a cycle, and what copying
/// costs (measured on a processor with AVX512-BF16).
double estimate(const Tiling& tiling, std::int64_t threads) {
  const auto turns = static_cast<double>(divide_up(tiling.tasks(), threads));
  const auto rows = static_cast<double>(tiling.task_rows());
  const auto panels = static_cast<double>(tiling.task_panels());
  return turns * (0.5 * product_vectors * rows * panels + 16 * panels + 0.4 * rows);
}

}  // namespace

Tiling tile(const GemmProblem& problem, const Elements& elements, std::int64_t threads) {
  Tiling tiling{};
  tiling.packs_a =
      is_worth_packing_a(problem, elements) && bytes_to_pack_a(problem, elements) <= most_memory_to_pack;
  const std::int64_t words = divide_up(problem.k, elements.per_word);
  const std::int64_t chunks = divide_up(words, most_chunk_words(problem, elements));
  tiling.chunk_words = round_up(divide_up(words, chunks), lanes::count);
  tiling.chunks = divide_up(words, tiling.chunk_words);
  tiling.strip_rows = static_cast<std::int64_t>(line_bytes) / elements.bytes;
  tiling.strips = divide_up(problem.m, tiling.strip_rows);
  tiling.panels = divide_up(problem.n, panel_columns);
  const std::int64_t most_panels = std::max<std::int64_t>(1, most_panel_bytes / (4 * tiling.panel_stride()));
  const std::int64_t least_row_tasks = tiling.chunks == 1 ? 1 : divide_up(problem.m, most_summed_rows);

  Tiling best{};
  const auto consider = [&](std::int64_t row_tasks, std::int64_t column_tasks) {
    tiling.row_tasks = row_tasks;
    tiling.column_tasks = column_tasks;
    if (best.tasks() == 0 || estimate(tiling, threads) < estimate(best, threads)) best = tiling;
  };
  for (std::int64_t more = 0; more < 2 * threads; ++more) {
    const std::int64_t row_tasks = std::min(least_row_tasks + more, tiling.strips);
    // As few groups of panels as fit the cache, and as few as give every thread the same number of tasks.
    const std::int64_t fewest = divide_up(tiling.panels, most_panels);
    consider(row_tasks, fewest);
    consider(row_tasks, std::min(tiling.panels, round_up(fewest, threads / std::gcd(threads, row_tasks))));
  }
  return best;
}

std::size_t most_thread_bytes(const GemmProblem& problem, const Elements& elements) {
  const auto bytes = [](std::int64_t words) { return aligned_bytes(4 * static_cast<std::size_t>(words)); };
  const std::int64_t words = divide_up(problem.k, elements.per_word);
  const std::int64_t most_words = most_chunk_words(problem, elements);
  const std::int64_t panels = divide_up(problem.n, panel_columns);
  const std::int64_t strip = static_cast<std::int64_t>(line_bytes) / elements.bytes;
  const std::int64_t widest = widest_chunk(problem, elements);
  const std::int64_t panel = odd_lines(widest * panel_columns);
  const std::size_t packed = bytes(std::min(panels * panel, std::max(most_panel_bytes / 4, panel))) +
                             bytes(strip * odd_lines(widest)) + bytes(strip);
  if (words <= most_words) return packed;
  // Chunks are narrowest, and a task has most panels, just behind the length of a single chunk.
  const std::int64_t narrowest = round_up(most_words / 2 + 1, lanes::count);
  const std::int64_t most_panels =
      std::max<std::int64_t>(1, most_panel_bytes / (4 * odd_lines(narrowest * panel_columns)));
  const std::int64_t rows = std::min(round_up(problem.m, strip), most_summed_rows + strip);
  return packed + bytes(rows * std::min(panels, most_panels) * panel_columns) + bytes(rows);
}

std::size_t most_packed_bytes(const GemmProblem& problem, const Elements& elements) {
  if (!is_worth_packing_a(problem, elements)) return 0;
  return std::min(bytes_to_pack_a(problem, elements), most_memory_to_pack);
}

bool tiles_are_faster(const GemmProblem& problem) {
  // Measured beside oneDNN 2.6 on a processor with AVX512-BF16. In bfloat16, operands that are not in the
  // cache cost oneDNN a twentieth of a product more, and a sixth where it has to turn A. In float the tiles
  // win a twentieth with long sums, and where A is turned with many columns; with few they lose as much.
  // Short sums and few rows are not worth the copy of B. A matrix unit (AMX) leaves both behind. Fewer rows,
  // columns or words of k never turn this from false to true: workspace for a product serves smaller ones.
  constexpr std::int64_t rows_worth_a_copy = 128;
  constexpr std::int64_t sums_worth_a_copy = 128;
  constexpr std::int64_t columns_worth_a_turn = 1024;
  constexpr bool by_words = WordsOf<bfloat16>::per_word == 2 && !processor_has_matrix_unit;
  if (!by_words || problem.m < rows_worth_a_copy || problem.k < sums_worth_a_copy) return false;
  return problem.a == DType::bf16 ||
         (problem.a == DType::fp32 &&
          problem.n >= (problem.transpose_a ? columns_worth_a_turn : panel_columns));
}

}  // namespace mylos

// The tasks of a GEMM by tiles: which rows and panels a task multiplies, and what it packs.
#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/kernels/gemm/gemm.hpp"
#include "mylos/kernels/gemm/tiles/gemm_tiling.hpp"

#if defined(MYLOS_KERNELS_TILE_TASKS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_TILE_TASKS_INL_HPP
#undef MYLOS_KERNELS_TILE_TASKS_INL_HPP
#else
#define MYLOS_KERNELS_TILE_TASKS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_epilogue-inl.hpp"
#include "mylos/kernels/gemm/tiles/tile_pack-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

// With vectors of 64 bytes, a strip of A stays in the first-level cache and panels come from the second. With
// shorter vectors the panel stays, and has at most 24 KiB.
constexpr bool strips_stay = HWY_MAX_BYTES == 64;
constexpr std::int64_t strip_rows = strips_stay ? 32 : 64;
constexpr std::int64_t chunk_words = strips_stay ? 512 : 256;

/// Some rows of a GEMM, and their tiling.
template <class Input, class Output>
class TiledRows {
 public:
  using Words = WordsOf<Input>;
  using Word = typename Words::Word;

  TiledRows(const GemmProblem& problem, const GemmOperands& operands, const Tiling& tiling, bool packs,
            std::int64_t first_row, std::int64_t rows, std::byte* packed)
      : problem_(problem),
        operands_(operands),
        tiling_(tiling),
        packs_(packs),
        first_row_(first_row),
        rows_(rows),
        packed_(reinterpret_cast<Word*>(packed)),
        packed_b_(static_cast<const Word*>(operands.packed_b)) {}

  /// Packs a panel of B in all its chunks, for GEMMs that read them from `to`.
  void pack_for_reuse(std::int64_t panel, void* to) const {
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk)
      pack(chunk, panel, static_cast<Word*>(to) + packed_panel(chunk, panel));
  }

  /// Packs a strip of A and sums its rows.
  void pack_strip(std::int64_t strip) const {
    const std::int64_t row = strip * strip_rows;
    const std::int64_t rows = std::min(strip_rows, rows_ - row);
    float totals[strip_rows] = {};
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      Word* const target = strip_at(chunk, strip);
      pack_chunk(chunk, strip, target);
      for (std::int64_t i = 0; i < rows && problem_.row_sums; ++i)
        totals[i] += sum_row<Words>(target + i * tiling_.row_stride, words_of(chunk));
    }
    if (problem_.row_sums) store_row_sums(row, rows, totals);
  }

  /// Computes one task, in memory of the calling thread. `packs_itself`: A has not been packed, and after the
  /// thread's memory there is some for a strip of it.
  void compute(std::int64_t task, std::byte* memory, bool packs_itself = false) const {
    Task part{.memory = ThreadMemory<Word>(tiling_, memory)};
    if (packs_itself) part.strip = part.memory.pieces.template take<Word>(tiling_.strip_words());
    part.first_panel = tiling_.first_panel(task % tiling_.column_tasks);
    part.end_panel = tiling_.first_panel(task % tiling_.column_tasks + 1);
    part.first_strip = tiling_.first_strip(task / tiling_.column_tasks);
    part.end_strip = tiling_.first_strip(task / tiling_.column_tasks + 1);
    for (part.chunk = 0; part.chunk < tiling_.chunks; ++part.chunk) {
      for (std::int64_t strip = part.first_strip; strip < part.end_strip; ++strip) {
        if (packs_itself) pack_chunk(part.chunk, strip, part.strip);
        multiply_strip(part, strip);
      }
    }
  }

 private:
  struct Task {
    ThreadMemory<Word> memory;
    std::int64_t first_panel = 0, end_panel = 0;
    std::int64_t first_strip = 0, end_strip = 0;
    std::int64_t chunk = 0;
    Word* strip = nullptr;  // of A, if the task packs it
  };

  [[nodiscard]] std::int64_t depth_of(std::int64_t chunk) const {
    const std::int64_t whole = tiling_.chunk_words * Words::per_word;
    return std::min(whole, problem_.k - chunk * whole);
  }
  [[nodiscard]] std::int64_t words_of(std::int64_t chunk) const {
    return divide_up(depth_of(chunk), Words::per_word);
  }
  [[nodiscard]] const Input* a_from(std::int64_t row, std::int64_t chunk) const {
    const std::int64_t k = chunk * tiling_.chunk_words * Words::per_word;
    const auto* a = static_cast<const Input*>(operands_.a);
    return problem_.transpose_a ? a + k * problem_.m + first_row_ + row
                                : a + (first_row_ + row) * problem_.k + k;
  }
  [[nodiscard]] Word* strip_at(std::int64_t chunk, std::int64_t strip) const {
    return packed_ + (chunk * tiling_.strips + strip) * tiling_.strip_words();
  }

  void pack_chunk(std::int64_t chunk, std::int64_t strip, Word* target) const {
    const std::int64_t row = strip * strip_rows;
    const std::int64_t rows = std::min(strip_rows, rows_ - row);
    if (problem_.transpose_a) {
      copy_rows_transposed<Words>(a_from(row, chunk), problem_.m, rows, depth_of(chunk), target,
                                  tiling_.row_stride);
    } else {
      copy_rows<Words>(a_from(row, chunk), problem_.k, rows, round_up(rows, register_rows), depth_of(chunk),
                       target, tiling_.row_stride);
    }
  }

  void store_row_sums(std::int64_t row, std::int64_t rows, const float* totals) const {
    Output* const sums = static_cast<Output*>(operands_.row_sums) + first_row_ + row;
    for (std::int64_t i = 0; i < rows; ++i)
      sums[i] = from_float<Output>(problem_.accumulate ? to_float(sums[i]) + totals[i] : totals[i]);
  }

  void pack(std::int64_t chunk, std::int64_t panel, Word* target) const {
    const std::int64_t column = panel * tiling_.panel_columns;
    const std::int64_t width = std::min(tiling_.panel_columns, problem_.n - column);
    const std::int64_t k = chunk * tiling_.chunk_words * Words::per_word;
    const auto* b = static_cast<const Input*>(operands_.b);
    const std::int64_t depth = depth_of(chunk);
    if (problem_.transpose_b) {
      pack_panel_transposed<Words>(b + column * problem_.k + k, problem_.k, width, depth, target);
    } else {
      pack_panel<Words>(b + k * problem_.n + column, problem_.n, width, depth, target);
    }
  }
  [[nodiscard]] Word* own_panel(const Task& part, std::int64_t panel) const {
    return part.memory.panels + (panel - part.first_panel) * tiling_.panel_stride;
  }
  [[nodiscard]] std::int64_t packed_panel(std::int64_t chunk, std::int64_t panel) const {
    return (chunk * tiling_.panels + panel) * tiling_.panel_stride;
  }
  [[nodiscard]] const Word* panel_at(const Task& part, std::int64_t panel) const {
    return packed_b_ != nullptr ? packed_b_ + packed_panel(part.chunk, panel) : own_panel(part, panel);
  }

  /// Multiplies the rows of a strip by the task's panels. The first strip packs the panels.
  void multiply_strip(const Task& part, std::int64_t strip) const {
    const std::int64_t row = strip * strip_rows;
    const std::int64_t rows = std::min(strip_rows, rows_ - row);
    const std::int64_t whole_rows = packs_ ? rows : rows / register_rows * register_rows;
    if (whole_rows < rows) {  // no kernel has fewer rows, and memory after the last row is not A's
      if constexpr (std::is_same_v<Input, typename Words::Element>) {
        const std::int64_t rest = rows - whole_rows;
        copy_rows<Words>(a_from(row + whole_rows, part.chunk), problem_.k, rest,
                         rest == 1 ? 1 : register_rows, depth_of(part.chunk), part.memory.edge,
                         tiling_.row_stride);
      }
    }
    for (std::int64_t panel = part.first_panel; panel < part.end_panel; ++panel) {
      if (strip == part.first_strip && packed_b_ == nullptr) pack(part.chunk, panel, own_panel(part, panel));
      if (packs_) {
        const Word* const packed = part.strip != nullptr ? part.strip : strip_at(part.chunk, strip);
        multiply_rows(part, panel, row, rows, {packed, tiling_.row_stride});
      } else {
        multiply_rows(part, panel, row, whole_rows,
                      {reinterpret_cast<const Word*>(a_from(row, part.chunk)), problem_.k / Words::per_word});
        multiply_rows(part, panel, row + whole_rows, rows - whole_rows,
                      {part.memory.edge, tiling_.row_stride});
      }
    }
  }

  void multiply_rows(const Task& part, std::int64_t panel, std::int64_t row, std::int64_t rows,
                     const ByRows<Word>& a) const {
    const std::int64_t column = panel * tiling_.panel_columns;
    const std::int64_t sums_row = row - part.first_strip * strip_rows;
    const std::int64_t sums_stride = (part.end_panel - part.first_panel) * tiling_.panel_columns;
    HWY_ALIGN float bias[register_vectors * hn::MaxLanes(FloatTag())];
    Epilogue<Output> epilogue{
        .c = static_cast<Output*>(operands_.c) + (first_row_ + row) * problem_.n + column,
        .c_stride = problem_.n,
        .rows = rows,
        .columns = std::min(tiling_.panel_columns, problem_.n - column),
        .bias = problem_.bias ? bias : nullptr,
        .accumulate = problem_.accumulate,
        .relu = problem_.relu,
        .sums = {part.memory.sums + sums_row * sums_stride +
                     (panel - part.first_panel) * tiling_.panel_columns,
                 sums_stride, part.chunk > 0},
        .last = part.chunk + 1 == tiling_.chunks};
    if (problem_.bias) load_bias(problem_, operands_, column, tiling_.panel_columns, bias);
    for (std::int64_t first = 0; first < rows; first += register_rows) {
      if (epilogue.rows == 1) {
        multiply_panel<1>(words_of(part.chunk), a.from_row(first), panel_at(part, panel), epilogue);
      } else {
        multiply_panel<register_rows>(words_of(part.chunk), a.from_row(first), panel_at(part, panel),
                                      epilogue);
      }
      epilogue.rows -= register_rows;
      epilogue.c += register_rows * problem_.n;
      epilogue.sums.values += register_rows * sums_stride;
    }
  }

  /// Multiplies the rows of a register tile by a panel, or by the vectors of it that have columns of C.
  template <std::int64_t tile_rows>
  static void multiply_panel(std::int64_t steps, const ByRows<Word>& a, const Word* panel,
                             const Epilogue<Output>& epilogue) {
    const std::int64_t stride = register_vectors * lanes();
    if (epilogue.columns > 2 * lanes()) {
      multiply_register_tile<Words, 3, tile_rows>(steps, a, panel, stride, epilogue);
    } else if (epilogue.columns > lanes()) {
      multiply_register_tile<Words, 2, tile_rows>(steps, a, panel, stride, epilogue);
    } else {
      multiply_register_tile<Words, 1, tile_rows>(steps, a, panel, stride, epilogue);
    }
  }

  GemmProblem problem_;
  GemmOperands operands_;
  Tiling tiling_;
  bool packs_;
  std::int64_t first_row_;
  std::int64_t rows_;
  Word* packed_;          // A
  const Word* packed_b_;  // null if the tasks pack B
};

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

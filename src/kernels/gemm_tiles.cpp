// Products on hosts by tiles that stay in the cores' own caches, in any of the three element types.
//
// C is cut into tasks of some rows and some columns. A task packs its columns of B, transposing and
// converting on the way, and keeps them in the second-level cache; it walks along its rows of A in strips,
// which stay in the first: as they lie in memory where they are words of k already, else copied. A kernel
// multiplies a few rows with a panel of columns and keeps that block of C in registers. The order of the
// loops is Goto's and van de Geijn's ("Anatomy of high-performance matrix multiplication", ACM TOMS 34(3),
// 2008) with the operands' parts exchanged.
//
// bfloat16 is multiplied as such where the processor has AVX512-BF16, whose instructions take subnormal
// numbers for zero; elsewhere, and half everywhere, as float.
//
// Where many tasks would copy the same strips, all of A is packed before they begin.
//
// The sums of A's rows, where they are asked for, come from strips that have just been packed.
//
// A thread that finds no task left takes strips of the others' tasks.
//
// Every element of C is summed in an order that depends on k, the form of the product and its type alone: any
// number of threads gives the same bits.
#include <algorithm>
#include <thread>
#include <utility>

#include "dealt_tasks.hpp"
#include "gemm_block.hpp"
#include "gemm_engines.hpp"
#include "gemm_open_task.hpp"
#include "gemm_pack.hpp"
#include "gemm_row_sums.hpp"
#include "gemm_tiling.hpp"
#include "mylos/base/dispatch.hpp"

namespace mylos {
namespace {

/// A product, and how it is cut.
template <class Input, class Output, class Bias>
class Tasks {
 public:
  using Words = WordsOf<Input>;
  using Word = typename Words::Word;
  static constexpr bool in_place = std::is_same_v<Input, typename Words::Element>;
  static constexpr auto elements_in_line = static_cast<std::int64_t>(line_bytes / sizeof(Input));
  static constexpr std::int64_t strip_rows = elements_in_line;

  Tasks(const GemmProblem& problem, const Tiling& tiling, const GemmOperands& operands,
        const SharedWork& shared)
      : problem_(problem),
        tiling_(tiling),
        shared_(shared),
        a_(static_cast<const Input*>(operands.a)),
        b_(static_cast<const Input*>(operands.b)),
        c_(static_cast<Output*>(operands.c)),
        bias_(static_cast<const Bias*>(operands.bias)),
        row_sums_(static_cast<Output*>(operands.row_sums)) {}

  /// All words of a strip of A, which is turned, for Tiling::packs_a.
  void pack_strip(std::int64_t strip) const {
    Part part{};
    part.row = strip * strip_rows;
    part.rows = std::min(strip_rows, problem_.m - part.row);
    alignas(64) float totals[strip_rows];
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      set_chunk(part, chunk);
      pack_turned(part, packed_strip(part));
      if (problem_.row_sums) sum_strip(part, packed_strip(part), totals);
    }
  }

  void compute(std::int64_t task, std::byte* memory) const {
    Part part = part_of(task, memory);
    OpenTask& open = shared_.task_of(memory);
    open.open(task, tiling_.chunks == 1 ? strips_of(part) : 0);
    shared_.begun->add();
    if (tiling_.chunks == 1) {
      multiply_strip(part, 0);
      open.set_panels_ready();
      multiply_strips_of(open, part);
      return;
    }
    for (std::int64_t chunk = 0; chunk < tiling_.chunks; ++chunk) {
      set_chunk(part, chunk);
      for (std::int64_t strip = 0; strip < strips_of(part); ++strip) multiply_strip(part, strip);
    }
  }

  /// Takes other threads' strips. Where all tasks have been begun, no thread packs other panels than those it
  /// has announced.
  void help(std::byte* memory) const {
    while (shared_.begun->count() < tiling_.tasks()) std::this_thread::yield();  // the rest have been taken
    for (std::int64_t worker = 0; worker < shared_.workers; ++worker) {
      std::byte* const theirs = shared_.memory_of(worker);
      OpenTask& open = shared_.task_of(theirs);
      while (open.has_strips() && !open.panels_are_ready()) std::this_thread::yield();
      if (!open.has_strips()) continue;
      Part part = part_of(open.task(), memory);
      part.panels = part_of(open.task(), theirs).panels;
      multiply_strips_of(open, part);
    }
  }

 private:
  /// Where a task is.
  struct Part {
    Word* panels;
    Word* strip;
    float* sums;        // of chunks before this one: of C,
    float* strip_sums;  // its strip's,
    float* row_totals;  // and of A's rows
    std::int64_t column, columns;
    std::int64_t first_row, end_row;
    std::int64_t row, rows;
    std::int64_t task, chunk, k, depth;
    bool first_strip;  // of a chunk: its panels are packed as it comes to them
  };

  /// In the first chunk.
  Part part_of(std::int64_t task, std::byte* memory) const {
    Part part{};
    part.panels = reinterpret_cast<Word*>(memory + open_task_bytes);
    part.strip = reinterpret_cast<Word*>(memory + open_task_bytes + tiling_.panel_bytes());
    part.sums = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(part.strip) + tiling_.strip_bytes());
    part.row_totals =
        reinterpret_cast<float*>(reinterpret_cast<std::byte*>(part.sums) + tiling_.sums_bytes());
    set_task(part, task);
    set_chunk(part, 0);
    return part;
  }
  void set_task(Part& part, std::int64_t task) const {
    part.task = task;
    const std::int64_t column_task = task % tiling_.column_tasks;
    const std::int64_t row_task = task / tiling_.column_tasks;
    part.column = tiling_.first_column(column_task);
    part.columns = std::min(tiling_.first_column(column_task + 1), problem_.n) - part.column;
    part.first_row = tiling_.first_row(row_task);
    part.end_row = std::min(tiling_.first_row(row_task + 1), problem_.m);
  }
  void set_chunk(Part& part, std::int64_t chunk) const {
    part.chunk = chunk;
    part.k = chunk * tiling_.chunk_words * Words::per_word;
    part.depth = std::min(tiling_.chunk_words * Words::per_word, problem_.k - part.k);
  }
  static std::int64_t strips_of(const Part& part) {
    return divide_up(part.end_row - part.first_row, strip_rows);
  }

  void multiply_strips_of(OpenTask& open, Part& part) const {
    for (std::int64_t strip = open.take(); strip < strips_of(part); strip = open.take())
      multiply_strip(part, strip);
  }

  /// Where B's columns of a panel begin, in this part's chunk of k.
  const Input* columns_of(const Part& part, std::int64_t panel) const {
    const std::int64_t column = part.column + panel * panel_columns;
    return problem_.transpose_b ? b_ + column * problem_.k + part.k : b_ + part.k * problem_.n + column;
  }
  std::int64_t width_of(const Part& part, std::int64_t panel) const {
    return std::min(panel_columns, part.columns - panel * panel_columns);
  }
  void pack_panel(const Part& part, std::int64_t panel) const {
    pack<Words, panel_columns>(columns_of(part, panel), problem_.transpose_b ? problem_.k : problem_.n,
                               problem_.transpose_b, width_of(part, panel), part.depth,
                               part.panels + panel * tiling_.panel_stride());
  }
  RowsToCome panel_to_come(const Part& part, std::int64_t panel) const {
    const std::int64_t width = width_of(part, panel);
    if (problem_.transpose_b)
      return rows_to_come(columns_of(part, panel), problem_.k, divide_up(part.depth, elements_in_line),
                          width);
    return rows_to_come(columns_of(part, panel), problem_.n, divide_up(width, elements_in_line), part.depth);
  }

  /// The first panel behind a part's last strip: of the next chunk, or of the task that this thread will take
  /// if there is one left.
  RowsToCome panel_behind(const Part& part) const {
    Part next = part;
    if (part.chunk + 1 < tiling_.chunks) {
      set_chunk(next, part.chunk + 1);
    } else if (part.task + 1 < tiling_.tasks()) {
      set_task(next, part.task + 1);
      set_chunk(next, 0);
    } else {
      return {};
    }
    return panel_to_come(next, 0);
  }

  /// Where A's rows of a strip begin, in this part's chunk of k.
  const Input* rows_of(const Part& part) const {
    return problem_.transpose_a ? a_ + part.k * problem_.m + part.row : a_ + part.row * problem_.k + part.k;
  }
  void pack_turned(const Part& part, Word* target) const {
    pack<Words, strip_rows>(rows_of(part), problem_.m, false, part.rows, part.depth, target);
  }
  /// Adds a chunk of the packed strip's rows to their totals, which are stored after the last one.
  void sum_strip(const Part& part, const Word* strip, float* totals) const {
    sum_rows<Words, strip_rows>(strip, words_deep(part), totals, part.chunk > 0);
    if (part.chunk + 1 < tiling_.chunks) return;
    for (std::int64_t i = 0; i < part.rows; ++i) {
      Output& sum = row_sums_[part.row + i];
      sum = from_float<Output>(problem_.accumulate ? to_float(sum) + totals[i] : totals[i]);
    }
  }
  Word* packed_strip(const Part& part) const {
    return reinterpret_cast<Word*>(shared_.packed_a()) +
           tiling_.packed_strip(part.chunk, part.row / strip_rows);
  }

  void multiply_strip(Part& part, std::int64_t strip) const {
    part.first_strip = strip == 0;
    part.row = part.first_row + strip * strip_rows;
    part.rows = std::min(strip_rows, part.end_row - part.row);
    const std::int64_t next_rows = std::min(strip_rows, part.end_row - part.row - part.rows);
    part.strip_sums = part.sums + strip * strip_rows * tiling_.task_panels() * panel_columns;
    if (tiling_.packs_a) {
      const Word* words = packed_strip(part);
      const std::int64_t lines = next_rows > 0 ? words_deep(part) * (strip_rows / lanes::count) : 0;
      return multiply_rows(part, BySteps<Word>{words, strip_rows},
                           rows_to_come(words + tiling_.packed_strip(0, 1), lanes::count, 1, lines));
    }
    const Input* first = rows_of(part);
    if (problem_.transpose_a) {
      pack_turned(part, part.strip);
      if (problem_.row_sums && part.column == 0)
        sum_strip(part, part.strip, part.row_totals + (tiling_.chunks == 1 ? 0 : strip * strip_rows));
      return multiply_rows(part, BySteps<Word>{part.strip, strip_rows},
                           rows_to_come(first + strip_rows, problem_.m, 1, next_rows > 0 ? part.depth : 0));
    }
    if constexpr (in_place) {
      // The last word of a row must not reach into the next row, nor the last block beyond the last row.
      if (problem_.k % Words::per_word == 0 && part.rows % product_rows == 0) {
        return multiply_rows(part, RowsInPlace<Words, Input>{first, problem_.k},
                             rows_to_come(first + strip_rows * problem_.k, problem_.k,
                                          divide_up(part.depth, elements_in_line), next_rows));
      }
    }
    copy_rows<Words>(first, problem_.k, part.rows, round_up(part.rows, product_rows), part.depth, part.strip,
                     tiling_.row_stride());
    multiply_rows(part, ByRows<Word>{part.strip, tiling_.row_stride()}, RowsToCome{});
  }

  static std::int64_t words_deep(const Part& part) { return divide_up(part.depth, Words::per_word); }
  static std::int64_t panels_of(const Part& part) { return divide_up(part.columns, panel_columns); }

  /// The strip's rows, as `a` gives them, times all panels. Each product fetches its share of what comes
  /// next: on the first strip the panel that is packed next, on the last one the first that follows.
  template <class A>
  void multiply_rows(const Part& part, const A& a, const RowsToCome& next_rows) const {
    const std::int64_t panels = panels_of(part);
    const std::int64_t products = divide_up(part.rows, product_rows);
    const bool at_last_strip = part.row + part.rows == part.end_row;
    RowsToCome behind = at_last_strip ? panel_behind(part) : next_rows;
    const std::int64_t share_of_behind =
        divide_up(behind.rows, part.first_strip ? products : products * panels);
    alignas(64) float bias[panel_columns];
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      const std::int64_t column = panel * panel_columns;
      if (part.first_strip) pack_panel(part, panel);
      const bool packs_next = part.first_strip && panel + 1 < panels;
      RowsToCome next_panel = packs_next ? panel_to_come(part, panel + 1) : RowsToCome{};
      RowsToCome& coming = packs_next ? next_panel : behind;
      const std::int64_t share = packs_next ? divide_up(next_panel.rows, products) : share_of_behind;
      Finish<Words, Output> finish{
          .c = c_ + part.row * problem_.n + part.column + column,
          .c_stride = problem_.n,
          .rows = part.rows,
          .columns = std::min(panel_columns, part.columns - column),
          .bias = problem_.bias ? bias : nullptr,
          .accumulate = problem_.accumulate,
          .relu = problem_.relu,
          .sums = {part.strip_sums + column * strip_rows, panel_columns, part.chunk > 0},
          .last = part.chunk + 1 == tiling_.chunks};
      if (problem_.bias) load_bias(bias_ + part.column + column, finish.columns, bias);
      for (std::int64_t row = 0; row < part.rows; row += product_rows) {
        multiply_panel(words_deep(part), a.from_row(row), part.panels + panel * tiling_.panel_stride(),
                       finish, coming.take(share));
        finish.rows -= product_rows;
        finish.c += product_rows * problem_.n;
        finish.sums.values += product_rows * panel_columns;
      }
    }
  }

  GemmProblem problem_;
  Tiling tiling_;
  SharedWork shared_;
  const Input* a_;
  const Input* b_;
  Output* c_;
  const Bias* bias_;
  Output* row_sums_;
};

class TiledGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiles"; }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override { return problem.transpose_a; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const Elements elements = elements_of(problem.a);
    const std::size_t thread_bytes = open_task_bytes + most_thread_bytes(problem, elements);
    return begun_tasks_bytes + dealt_bytes(thread_bytes) + most_packed_bytes(problem, elements);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    check_gemm_problem(problem);
    const Tiling cut = tile(problem, elements_of(problem.a), threads_);
    const SharedWork shared(static_cast<std::byte*>(workspace), cut.thread_bytes(), threads_);
    dispatch(problem.a, [&]<class Input>(TypeTag<Input>) {
      dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
        dispatch(problem.bias ? problem.bias_type : DType::fp32, [&]<class Bias>(TypeTag<Bias>) {
          const Tasks<Input, Output, Bias> tasks(problem, cut, operands, shared);
          if (cut.packs_a) {
            for_each_row(execution, "gemm_pack", cut.strips,
                         [tasks](std::int64_t strip, const Row&) { tasks.pack_strip(strip); });
          }
          for_each_dealt_task(
              execution, "gemm_tiles", cut.tasks(), shared.memory, shared.worker_bytes,
              [tasks](std::int64_t task, std::byte* memory) { tasks.compute(task, memory); },
              [tasks](std::byte* memory) { tasks.help(memory); });
        });
      });
    });
  }

 private:
  static Elements elements_of(DType type) {
    return dispatch(type, []<class Input>(TypeTag<Input>) {
      using Words = WordsOf<Input>;
      return Elements{sizeof(Input), Words::per_word, std::is_same_v<Input, typename Words::Element>};
    });
  }

  std::int64_t threads_ = most_workers();
};

}  // namespace

MakeGemm tiled_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<TiledGemm>()); };
}

}  // namespace mylos

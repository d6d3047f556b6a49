// Products on hosts by tiles that stay in the cores' own caches, in any of the three element types.
//
// C is cut into tiles, one task each. A task walks along k in chunks: it copies its parts of A and B into
// panels of floats (converting 16-bit types and transposing on the way, which the copy hides), multiplies the
// panels with a kernel that keeps a block of C in registers, and at the end rounds its tile of C once. After
// Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", ACM TOMS 34(3), 2008.
//
// Every element of C is summed in an order that depends on k alone: any number of threads gives the same
// bits.
#include <algorithm>
#include <array>
#include <utility>

#include "gemm_engines.hpp"
#include "gemm_pack.hpp"
#include "mylos/base/arena.hpp"
#include "mylos/base/dispatch.hpp"

namespace mylos {
namespace {

using lanes::Floats;

// The block of C that one kernel call keeps in registers: 8 rows of 3 vectors in AVX-512's 32 registers; 4
// rows of one vector where a vector takes two or four registers. Rows divide lanes::count, the width of A's
// panels.
#if defined(__AVX512F__)
constexpr int block_rows = 8;
constexpr int block_vectors = 3;
#else
constexpr int block_rows = 4;
constexpr int block_vectors = 1;
#endif
constexpr int block_columns = block_vectors * lanes::count;

// A tile's panels and its float sums take about 0.4 MiB together: a part of the second-level cache, which two
// hardware threads may share. Chunks of depth are fixed: they order the sums.
constexpr std::int64_t most_rows = 192;
constexpr std::int64_t most_columns = 288;
constexpr std::int64_t most_depth = 128;
// Parts of C whose operands are in panels at one time; bounds the workspace of large products.
constexpr std::int64_t most_packed_rows = 16 * most_rows;
constexpr std::int64_t most_packed_columns = 8 * most_columns;

constexpr std::int64_t divide_up(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) {
  return divide_up(value, to) * to;
}

/// How a problem is cut. Everything but the tiles' sizes follows from the shapes alone.
struct Tiling {
  std::int64_t part_rows;     // of C, computed by one pair of launches
  std::int64_t part_columns;  // of C, computed by one pair of launches
  std::int64_t rows;          // of a tile of C, a multiple of lanes::count
  std::int64_t columns;       // of a tile of C, a multiple of block_columns
  std::int64_t depth;         // of a chunk of k, a multiple of lanes::count
  // Floats from one panel to the next: an odd number of cache lines, so that neighbouring panels do not fall
  // into the same sets of the caches.
  std::int64_t a_stride;
  std::int64_t b_stride;

  std::size_t a_bytes() const {
    return aligned_bytes(4 *
                         static_cast<std::size_t>(round_up(part_rows, lanes::count) / block_rows * a_stride));
  }
  std::size_t b_bytes() const {
    return aligned_bytes(4 * static_cast<std::size_t>(divide_up(part_columns, block_columns) * b_stride));
  }
  std::size_t sums_bytes() const { return aligned_bytes(4 * static_cast<std::size_t>(rows * columns)); }
};

constexpr std::int64_t panel_stride(std::int64_t width, std::int64_t k) {
  return (divide_up(width * k, lanes::count) | 1) * lanes::count;
}

Tiling tile(const GemmProblem& problem, std::int64_t threads) {
  Tiling tiling{};
  tiling.part_rows = std::min(problem.m, most_packed_rows);
  tiling.part_columns = std::min(problem.n, most_packed_columns);
  std::int64_t row_tiles = divide_up(tiling.part_rows, most_rows);
  std::int64_t column_tiles = divide_up(tiling.part_columns, most_columns);
  // Every thread should get the same number of tiles: where they do not come out even, cut the columns finer.
  const std::int64_t finest = divide_up(tiling.part_columns, block_columns);
  while (row_tiles * column_tiles % threads != 0 && row_tiles * column_tiles < 8 * threads &&
         column_tiles < finest) {
    ++column_tiles;
  }
  tiling.rows = round_up(divide_up(tiling.part_rows, row_tiles), lanes::count);
  tiling.columns = round_up(divide_up(tiling.part_columns, column_tiles), block_columns);
  tiling.depth = round_up(divide_up(problem.k, divide_up(problem.k, most_depth)), lanes::count);
  tiling.a_stride = panel_stride(block_rows, problem.k);
  tiling.b_stride = panel_stride(block_columns, problem.k);
  return tiling;
}

/// C[rows, vectors * 16] (+)= A[rows, depth] · B[depth, vectors * 16] on panels.
template <int rows, int vectors>
void multiply_block(std::int64_t depth, const float* a, const float* b, float* c, std::int64_t c_stride,
                    bool add) {
  Floats sum[rows][vectors] = {};
  for (std::int64_t p = 0; p < depth; ++p) {
    Floats columns[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) lanes::load(b + v * lanes::count, columns[v]);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sum[r][v] += a[r] * columns[v];
    }
    a += block_rows;
    b += block_columns;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      float* target = c + r * c_stride + v * lanes::count;
      Floats before = {};
      if (add) lanes::load(target, before);
      lanes::store(before + sum[r][v], target);
    }
  }
}

using BlockKernel = void (*)(std::int64_t, const float*, const float*, float*, std::int64_t, bool);

template <std::size_t... index>
constexpr std::array<BlockKernel, sizeof...(index)> block_kernels(std::index_sequence<index...>) {
  return {multiply_block<index / block_vectors + 1, index % block_vectors + 1>...};
}

/// The kernel for 1 to block_rows rows and 1 to block_vectors vectors.
BlockKernel block_kernel(std::int64_t rows, std::int64_t vectors) {
  static constexpr auto kernels = block_kernels(std::make_index_sequence<block_rows * block_vectors>());
  return kernels[static_cast<std::size_t>((rows - 1) * block_vectors + vectors - 1)];
}

/// C[rows, columns] (+)= A · B for one chunk of k; the pointers are to the chunk's start in the first panels.
void multiply_panels(const Tiling& tiling, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                     const float* a, const float* b, float* c, bool add) {
  for (std::int64_t j = 0; j < columns; j += block_columns) {
    const std::int64_t vectors = std::min<std::int64_t>(block_vectors, divide_up(columns - j, lanes::count));
    const float* next = b + (j / block_columns + 1) * tiling.b_stride;
    const std::int64_t share = divide_up(depth * block_columns, divide_up(rows, block_rows));
    for (std::int64_t i = 0; i < rows; i += block_rows) {
      // Each call fetches its share of the columns that come next, which lie in the shared cache or in
      // memory.
      for (std::int64_t f = 0; f < share; f += lanes::count) __builtin_prefetch(next + f, 0, 2);
      next += share;
      block_kernel(std::min<std::int64_t>(block_rows, rows - i), vectors)(
          depth, a + i / block_rows * tiling.a_stride, b + j / block_columns * tiling.b_stride,
          c + i * tiling.columns + j, tiling.columns, add);
    }
  }
}

/// One row of C from its float sums, sixteen columns at a time.
template <class Output, class Bias>
void finish_row(const GemmProblem& problem, const float* sums, const Bias* bias, std::int64_t columns,
                Output* c) {
  const auto finish = [&](Floats value, std::int64_t column, auto load, auto store) {
    Floats other;
    if (problem.bias) {
      load(bias + column, other);
      value += other;
    }
    if (problem.accumulate) {
      load(c + column, other);
      value += other;
    }
    if (problem.relu) value = value < 0.0f ? Floats{} : value;  // keeps NaN
    store(value, c + column);
  };
  std::int64_t column = 0;
  Floats value;
  for (; column + lanes::count <= columns; column += lanes::count) {
    lanes::load(sums + column, value);
    finish(
        value, column, [](const auto* from, Floats& to) { lanes::load(from, to); },
        [](const Floats& from, auto* to) { lanes::store(from, to); });
  }
  if (column < columns) {
    const std::int64_t rest = columns - column;
    lanes::load(sums + column, value);  // tiles of sums are padded to whole vectors
    finish(
        value, column, [rest](const auto* from, Floats& to) { lanes::load_some(from, rest, to); },
        [rest](const Floats& from, auto* to) { lanes::store_some(from, rest, to); });
  }
}

/// A part of C (`rows` x `columns` from row `row` and column `column`) with the memory it is computed in.
template <class Input, class Output, class Bias>
struct Part {
  GemmProblem problem;
  Tiling tiling;
  const Input* a;
  const Input* b;
  Output* c;
  const Bias* bias;
  float* a_panels;
  float* b_panels;
  float* sums;  // one tile for each thread
  std::int64_t row;
  std::int64_t column;
  std::int64_t rows;
  std::int64_t columns;

  std::int64_t row_tiles() const { return divide_up(rows, tiling.rows); }
  std::int64_t column_tiles() const { return divide_up(columns, tiling.columns); }
  std::int64_t chunks() const { return divide_up(problem.k, tiling.depth); }

  /// Packs one chunk of one tile's rows of A, or of one tile's columns of B: pack_tasks() tasks.
  void pack_chunk(std::int64_t index) const {
    const std::int64_t p = index % chunks() * tiling.depth;
    const std::int64_t depth = std::min(tiling.depth, problem.k - p);
    const std::int64_t tile = index / chunks();
    if (tile < column_tiles()) {
      const std::int64_t j = tile * tiling.columns;
      const std::int64_t width = std::min(tiling.columns, columns - j);
      float* target = b_panels + j / block_columns * tiling.b_stride + p * block_columns;
      if (problem.transpose_b) {
        pack<block_columns>(b + (column + j) * problem.k + p, problem.k, true, width, depth, target,
                            tiling.b_stride);
      } else {
        pack<block_columns>(b + p * problem.n + column + j, problem.n, false, width, depth, target,
                            tiling.b_stride);
      }
    } else {
      const std::int64_t i = (tile - column_tiles()) * tiling.rows;
      const std::int64_t width = std::min(tiling.rows, rows - i);
      float* target = a_panels + i / block_rows * tiling.a_stride + p * block_rows;
      if (problem.transpose_a) {
        pack<block_rows>(a + p * problem.m + row + i, problem.m, false, width, depth, target,
                         tiling.a_stride);
      } else {
        pack<block_rows>(a + (row + i) * problem.k + p, problem.k, true, width, depth, target,
                         tiling.a_stride);
      }
    }
  }
  std::int64_t pack_tasks() const { return (row_tiles() + column_tiles()) * chunks(); }

  /// Computes one tile of C: row_tiles() * column_tiles() tasks.
  void compute_tile(std::int64_t index, std::int64_t thread) const {
    const std::int64_t i = index % row_tiles() * tiling.rows;
    const std::int64_t j = index / row_tiles() * tiling.columns;
    const std::int64_t tile_rows = std::min(tiling.rows, rows - i);
    const std::int64_t tile_columns = std::min(tiling.columns, columns - j);
    float* tile_sums = sums + static_cast<std::size_t>(thread) * tiling.sums_bytes() / 4;
    for (std::int64_t p = 0; p < problem.k; p += tiling.depth) {
      multiply_panels(tiling, tile_rows, tile_columns, std::min(tiling.depth, problem.k - p),
                      a_panels + i / block_rows * tiling.a_stride + p * block_rows,
                      b_panels + j / block_columns * tiling.b_stride + p * block_columns, tile_sums, p > 0);
    }
    for (std::int64_t r = 0; r < tile_rows; ++r) {
      finish_row(problem, tile_sums + r * tiling.columns, problem.bias ? bias + column + j : nullptr,
                 tile_columns, c + (row + i + r) * problem.n + column + j);
    }
  }
};

class TiledGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiles"; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const Tiling tiling = tile(problem, threads_);
    return tiling.a_bytes() + tiling.b_bytes() + tiling.sums_bytes() * static_cast<std::size_t>(threads_);
  }

  void run(const Execution& execution, const GemmProblem& problem, const void* a, const void* b, void* c,
           const void* bias, void* workspace) override {
    check_gemm_problem(problem);
    dispatch(problem.a, [&]<class Input>(TypeTag<Input>) {
      dispatch(problem.c, [&]<class Output>(TypeTag<Output>) {
        dispatch(problem.bias ? problem.bias_type : DType::fp32, [&]<class Bias>(TypeTag<Bias>) {
          Part<Input, Output, Bias> part{};
          part.problem = problem;
          part.a = static_cast<const Input*>(a);
          part.b = static_cast<const Input*>(b);
          part.c = static_cast<Output*>(c);
          part.bias = static_cast<const Bias*>(bias);
          run_parts(execution, part, static_cast<std::byte*>(workspace));
        });
      });
    });
  }

 private:
  static constexpr auto scope = Kokkos::Experimental::UniqueTokenScope::Instance;
  using Tokens = Kokkos::Experimental::UniqueToken<Execution, scope>;
  using Policy =
      Kokkos::RangePolicy<Execution, Kokkos::Schedule<Kokkos::Dynamic>, Kokkos::IndexType<std::int64_t>>;

  template <class Part>
  void run_parts(const Execution& execution, Part part, std::byte* workspace) const {
    part.tiling = tile(part.problem, threads_);
    part.a_panels = reinterpret_cast<float*>(workspace);
    part.b_panels = reinterpret_cast<float*>(workspace + part.tiling.a_bytes());
    part.sums = reinterpret_cast<float*>(workspace + part.tiling.a_bytes() + part.tiling.b_bytes());
    for (part.column = 0; part.column < part.problem.n; part.column += part.tiling.part_columns) {
      part.columns = std::min(part.tiling.part_columns, part.problem.n - part.column);
      for (part.row = 0; part.row < part.problem.m; part.row += part.tiling.part_rows) {
        part.rows = std::min(part.tiling.part_rows, part.problem.m - part.row);
        Kokkos::parallel_for("gemm_pack", Policy(execution, 0, part.pack_tasks(), Kokkos::ChunkSize(1)),
                             [part](std::int64_t index) { part.pack_chunk(index); });
        Kokkos::parallel_for(
            "gemm_multiply",
            Policy(execution, 0, part.row_tiles() * part.column_tiles(), Kokkos::ChunkSize(1)),
            [part, tokens = tokens_](std::int64_t index) {
              const Kokkos::Experimental::AcquireUniqueToken<Execution, scope> token(tokens);
              part.compute_tile(index, token.value());
            });
      }
    }
  }

  Tokens tokens_;
  std::int64_t threads_ = tokens_.size();
};

}  // namespace

MakeGemm tiled_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<TiledGemm>()); };
}

}  // namespace mylos

// GEMMs on hosts by tiles that stay in the private caches of a core, for all three element types.
//
// C is divided into tasks of some rows and some columns. A task packs its columns of B into panels,
// transposing and converting them, and keeps the panels in the second-level cache. It processes its rows of A
// in strips. A kernel multiplies a few rows by a panel and keeps that tile of C in registers
// (tile_gemm-inl.hpp). The loop order is that of Goto and van de Geijn ("Anatomy of high-performance
// matrix multiplication", ACM TOMS 34(3), 2008) with the roles of the operands exchanged.
//
// A is read in place if it is stored by rows of words. Otherwise it is packed before the tasks start. If the
// sums of its rows are requested, they are computed from the strips that have just been packed.
//
// The summation order of every element of C depends only on k, the type and the target. The result has the
// same bits for any number of threads.
#include <algorithm>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/vector/vector_targets.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/tiles/gemm_tiling.hpp"
#include "mylos/kernels/launch/work_stealing.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mylos/kernels/gemm/tiles/gemm_tiles.cpp"
#include <hwy/foreach_target.h>
// The macro above makes Highway include the rest of this file once per target.
#include <hwy/highway.h>

#include "mylos/kernels/gemm/tiles/tile_row-inl.hpp"
#include "mylos/kernels/gemm/tiles/tile_tasks-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {
namespace {

TileKernel kernel_for(DType type) {
  return dispatch(type, []<class Input>(TypeTag<Input>) HWY_ATTR {
    using Words = WordsOf<Input>;
    return TileKernel{
        .rows = register_rows,
        .columns = register_vectors * lanes(),
        .vectors = register_vectors,
        .strip_rows = strip_rows,
        .chunk_words = chunk_words,
        .per_word = Words::per_word,
        .takes_rows_from_memory = std::is_same_v<Input, typename Words::Element>,
    };
  });
}

template <class Input, class Output>
void run_typed(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
               std::byte* workspace, std::int64_t threads) {
  const TileKernel kernel = kernel_for(problem.a);
  if (operands.packed_b != nullptr && multiplies_one_row(problem, kernel, threads))
    return TiledRow<Input, Output>(problem, operands, kernel).compute();
  const bool packs = packs_a(problem, kernel);
  const std::int64_t max_rows = rows_at_once(problem, kernel);
  const GemmMemory memory(problem, kernel, workspace);
  for (std::int64_t row = 0; row < problem.m; row += max_rows) {
    const std::int64_t rows = std::min(max_rows, problem.m - row);
    const Tiling tiling = tile(problem, rows, kernel, threads);
    const TiledRows<Input, Output> gemm(problem, operands, tiling, packs, row, rows, memory.packed);
    if (packs) {
      for_each_row(execution, "gemm_pack", tiling.strips,
                   [gemm](std::int64_t strip, const Row&) HWY_ATTR { gemm.pack_strip(strip); });
    }
    for_each_task(execution, "gemm_tiles", tiling.tasks(), memory.workers,
                  ThreadMemory<float>(tiling, nullptr).pieces.bytes(),
                  [gemm](std::int64_t task, std::byte* scratch) HWY_ATTR { gemm.compute(task, scratch); });
  }
}

/// Computes the tasks of all GEMMs of a batch in one launch. A task packs the rows of A that it reads.
template <class Input, class Output>
void run_batch_typed(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                     std::byte* workspace, std::int64_t threads) {
  const TileKernel kernel = kernel_for(batch.one.a);
  const GemmProblem problem = batch.one;
  const bool packs = packs_a(problem, kernel);
  const Tiling tiling = tile(problem, problem.m, kernel, divide_up(threads, batch.count));
  const std::int64_t tasks = tiling.tasks();
  for_each_task(execution, "gemm_batch", batch.count * tasks, workspace, batch_thread_bytes(problem, kernel),
                [=](std::int64_t task, std::byte* scratch) HWY_ATTR {
                  const std::int64_t index = task / tasks;
                  const GemmOperands operands{static_cast<const Input*>(first.a) + index * batch.stride_a,
                                              static_cast<const Input*>(first.b) + index * batch.stride_b,
                                              static_cast<Output*>(first.c) + index * batch.stride_c};
                  TiledRows<Input, Output>(problem, operands, tiling, packs, 0, problem.m, nullptr)
                      .compute(task - index * tasks, scratch, packs);
                });
}

void run_batch(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
               std::byte* workspace, std::int64_t threads) {
  dispatch(batch.one.a, [&]<class Input>(TypeTag<Input>) HWY_ATTR {
    if (batch.one.c == batch.one.a) {
      run_batch_typed<Input, Input>(execution, batch, first, workspace, threads);
    } else {
      run_batch_typed<Input, float>(execution, batch, first, workspace, threads);
    }
  });
}

void run_gemm(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
              std::byte* workspace, std::int64_t threads) {
  dispatch(problem.a, [&]<class Input>(TypeTag<Input>) HWY_ATTR {
    if (problem.c == problem.a) {
      run_typed<Input, Input>(execution, problem, operands, workspace, threads);
    } else {
      run_typed<Input, float>(execution, problem, operands, workspace, threads);
    }
  });
}

/// Packs all of B.
void pack_all(const Execution& execution, const GemmProblem& problem, const void* b, void* packed) {
  dispatch(problem.a, [&]<class Input>(TypeTag<Input>) HWY_ATTR {
    const Tiling tiling = tile(problem, problem.m, kernel_for(problem.a), 1);
    const TiledRows<Input, Input> gemm(problem, {nullptr, b, nullptr}, tiling, false, 0, problem.m, nullptr);
    for_each_row(execution, "gemm_pack_b", tiling.panels,
                 [gemm, packed](std::int64_t panel, const Row&)
                     HWY_ATTR { gemm.pack_for_reuse(panel, packed); });
  });
}

}  // namespace
}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mylos {
namespace {

HWY_EXPORT(kernel_for);
HWY_EXPORT(run_gemm);
HWY_EXPORT(run_batch);
HWY_EXPORT(pack_all);

/// Uses the instructions that were in use when it was created.
class TiledGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return "tiles"; }

  [[nodiscard]] bool sums_rows(const GemmProblem& problem) const override { return problem.transpose_a; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    const TileKernel kernel = kernel_for_(problem.a);
    return GemmMemory(problem, kernel, nullptr).pieces.bytes();
  }

  [[nodiscard]] std::size_t packed_bytes(const GemmProblem& problem) const override {
    const Tiling tiling = tile(problem, problem.m, kernel_for_(problem.a), 1);
    return bytes_of_words(tiling.chunks * tiling.panels * tiling.panel_stride);
  }
  void pack(const Execution& execution, const GemmProblem& problem, const void* b, void* packed) override {
    pack_all_(execution, problem, b, packed);
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    check_gemm_problem(problem);
    run_gemm_(execution, problem, operands, static_cast<std::byte*>(workspace), threads_of(execution));
  }

  [[nodiscard]] std::size_t batch_workspace_bytes(const GemmBatch& batch) const override {
    if (!batch.together) return workspace_bytes(batch.one);
    return bytes_of_workers(batch_thread_bytes(batch.one, kernel_for_(batch.one.a)));
  }
  void run_batched(const Execution& execution, const GemmBatch& batch, const GemmOperands& first,
                   void* workspace) override {
    if (!batch.together) return GemmEngine::run_batched(execution, batch, first, workspace);
    check_gemm_batch(batch);
    run_batch_(execution, batch, first, static_cast<std::byte*>(workspace), threads_of(execution));
  }

 private:
  decltype(HWY_DYNAMIC_POINTER(kernel_for)) kernel_for_ = HWY_DYNAMIC_POINTER(kernel_for);
  decltype(HWY_DYNAMIC_POINTER(run_gemm)) run_gemm_ = HWY_DYNAMIC_POINTER(run_gemm);
  decltype(HWY_DYNAMIC_POINTER(run_batch)) run_batch_ = HWY_DYNAMIC_POINTER(run_batch);
  decltype(HWY_DYNAMIC_POINTER(pack_all)) pack_all_ = HWY_DYNAMIC_POINTER(pack_all);
};

}  // namespace

MakeGemm tiled_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<TiledGemm>()); };
}

}  // namespace mylos
#endif

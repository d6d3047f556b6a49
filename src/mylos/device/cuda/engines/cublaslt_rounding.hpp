// Where cuBLASLt's algorithms round when they add a product to a 16-bit C: found by a trial, because the
// library reports it nowhere.
#pragma once

#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/device/cuda/engines/cublaslt_descriptors.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos::cublaslt {

constexpr std::int64_t trial_side = 256;
constexpr std::size_t trial_matrix_bytes = trial_side * trial_side * 2;
/// The bytes of a trial's matrices. They follow the library's workspace.
constexpr std::size_t trial_bytes = 3 * trial_matrix_bytes;
static_assert(trial_matrix_bytes % arena_alignment == 0);

/// Returns true if the algorithm rounds only the sum of product and C; false if it rounds the product first,
/// or cannot compute the trial. Waits for the result.
inline bool adds_before_rounding(cublasLtHandle_t handle, const Execution& execution, GemmProblem problem,
                                 const cublasLtMatmulAlgo_t& algorithm, void* workspace) {
  problem.m = problem.n = trial_side;
  problem.k = 64;
  // 64 (1 + 2^-7)^2 is 65 + 2^-8, which both 16-bit types round to 65.
  constexpr float factor = 1.0f + 1.0f / 128;
  constexpr float before = -65.0f;
  constexpr float exact = 1.0f / 256;

  const LibraryGemm gemm = library_gemm(problem);
  const Description description = describe(gemm);
  const Layout first = layout_of(gemm.first, 1, 0);
  const Layout second = layout_of(gemm.second, 1, 0);
  const Layout result = layout_of(gemm.result, 1, 0);
  cublasLtMatmulHeuristicResult_t checked{};
  if (cublasLtMatmulAlgoCheck(handle, description.get(), first.get(), second.get(), result.get(),
                              result.get(), &algorithm, &checked) != CUBLAS_STATUS_SUCCESS ||
      checked.workspaceSize > library_workspace_bytes) {
    return false;
  }

  auto* const memory = static_cast<std::byte*>(workspace) + library_workspace_bytes;
  const Tensor a(memory, problem.a, 1, problem.m * problem.k);
  const Tensor b(memory + trial_matrix_bytes, problem.b, 1, problem.k * problem.n);
  const Tensor c(memory + 2 * trial_matrix_bytes, problem.c, problem.m, problem.n);
  fill(execution, a, factor);
  fill(execution, b, factor);
  fill(execution, c, before);
  const float one = 1.0f;
  const cublasStatus_t status =
      cublasLtMatmul(handle, description.get(), &one, b.data(), first.get(), a.data(), second.get(), &one,
                     c.data(), result.get(), c.data(), result.get(), &algorithm, workspace,
                     library_workspace_bytes, execution.cuda_stream());
  if (is_refusal(status)) return false;
  check(status, "try how an algorithm rounds");
  float found = 0;
  dispatch(problem.c, [&]<class T>(TypeTag<T>) {
    T value{};
    Kokkos::deep_copy(execution, Kokkos::View<T, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(&value),
                      Kokkos::View<const T, Device, Kokkos::MemoryUnmanaged>(c.as<T>()));
    execution.fence("trial of a rounding");
    found = to_float(value);
  });
  return found == exact;
}

}  // namespace mylos::cublaslt

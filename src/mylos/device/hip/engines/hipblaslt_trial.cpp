#include "mylos/device/hip/engines/hipblaslt_trial.hpp"

#include <hipblaslt/hipblaslt-ext.hpp>

#include <algorithm>
#include <vector>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos::hipblaslt {
namespace {

constexpr float small = 1.0f / 64;  // small x small is 2^-12
constexpr float expected = small * small;

/// Writes `first`, `second`, then zeros along k, in `outer` rows of k elements or, transposed, k rows of
/// `outer`.
void fill_operand(const Execution& execution, void* data, DType type, std::int64_t outer, std::int64_t k,
                  bool k_is_last) {
  dispatch(type, [&]<class Value>(TypeTag<Value>) {
    auto* const values = static_cast<Value*>(data);
    const std::int64_t length = k_is_last ? k : outer;
    for_each_element(
        execution, "trial_operand", outer * k, KOKKOS_LAMBDA(std::int64_t i) {
          const std::int64_t step = k_is_last ? i % length : i / length;
          values[i] = from_float<Value>(step == 0 ? 1.0f : step == 1 ? small : 0.0f);
        });
  });
}

void fill(const Execution& execution, void* data, DType type, std::int64_t count, float value) {
  dispatch(type, [&]<class Value>(TypeTag<Value>) {
    auto* const values = static_cast<Value*>(data);
    for_each_element(
        execution, "trial_fill", count,
        KOKKOS_LAMBDA(std::int64_t i) { values[i] = from_float<Value>(value); });
  });
}

bool all_are_expected(const Execution& execution, const void* data, DType type, std::int64_t count) {
  return dispatch(type, [&]<class Value>(TypeTag<Value>) {
    std::vector<Value> values(static_cast<std::size_t>(count));
    const Kokkos::View<const Value*, Memory, Kokkos::MemoryUnmanaged> device(static_cast<const Value*>(data),
                                                                             values.size());
    const Kokkos::View<Value*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged> host(values.data(), values.size());
    Kokkos::deep_copy(execution, host, device);
    execution.fence("trial of an algorithm");
    return std::all_of(values.begin(), values.end(), [](Value value) { return to_float(value) == expected; });
  });
}

}  // namespace

GemmProblem trial_problem(const GemmProblem& problem) {
  GemmProblem trial = problem;
  trial.m = std::min(problem.m, max_trial_side);
  trial.n = std::min(problem.n, max_trial_side);
  trial.k = std::min(problem.k, max_trial_k);
  return trial;
}

bool adds_before_rounding(hipblasLtHandle_t handle, const Execution& execution, const GemmProblem& problem,
                          bool adds_c, const hipblasLtMatmulAlgo_t& algorithm, void* workspace) {
  const GemmProblem trial = trial_problem(problem);
  if (trial.k < 2) return true;  // a single product of two 16-bit numbers is added to nothing before the bias
  // All operands have 16 bits: sums of floats are not rounded before anything is added.
  auto* const a =
      reinterpret_cast<std::uint16_t*>(static_cast<std::byte*>(workspace) + library_workspace_bytes);
  auto* const b = a + trial.m * trial.k;
  auto* const c = b + trial.k * trial.n;
  auto* const bias = c + trial.m * trial.n;
  fill_operand(execution, a, trial.a, trial.m, trial.k, !trial.transpose_a);
  fill_operand(execution, b, trial.b, trial.n, trial.k, trial.transpose_b);
  fill(execution, c, trial.c, trial.m * trial.n, -1.0f);
  fill(execution, bias, trial.bias_type, trial.n, -1.0f);

  const LibraryGemm gemm = library_gemm(trial);
  const Description description =
      adds_c ? describe(gemm) : describe_with(HIPBLASLT_EPILOGUE_BIAS, gemm, trial.bias_type, bias);
  const Layout first = layout_of(gemm.first, 1, 0);
  const Layout second = layout_of(gemm.second, 1, 0);
  const Layout result = layout_of(gemm.result, 1, 0);
  const float alpha = 1.0f;
  const float beta = adds_c ? 1.0f : 0.0f;
  hipblasLtMatmulAlgo_t tried = algorithm;
  std::size_t bytes = 0;
  if (hipblaslt_ext::matmulIsAlgoSupported(handle, description.get(), &alpha, first.get(), second.get(),
                                           &beta, result.get(), result.get(), tried,
                                           bytes) != HIPBLAS_STATUS_SUCCESS ||
      bytes > library_workspace_bytes)
    return false;
  const hipblasStatus_t status = hipblasLtMatmul(
      handle, description.get(), &alpha, b, first.get(), a, second.get(), &beta, c, result.get(), c,
      result.get(), &tried, workspace, library_workspace_bytes, execution.hip_stream());
  if (is_refusal(status)) return false;
  check(status, "run a trial");
  return all_are_expected(execution, c, trial.c, trial.m * trial.n);
}

}  // namespace mylos::hipblaslt

// A GEMM or a batch of GEMMs by hipBLASLt: its descriptors, the algorithms that the library has for it, and
// the first of them that it does not refuse.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "mylos/device/hip/engines/hipblaslt_algorithm.hpp"
#include "mylos/device/hip/engines/hipblaslt_descriptors.hpp"
#include "mylos/device/hip/engines/hipblaslt_trial.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"

namespace mylos::hipblaslt {

/// Returns true if one GEMM can compute the gradient of 16-bit activations.
inline bool can_multiply_by_gelu(const GemmProblem& problem) {
  return form_of(problem) == GemmForm::input_gradient && problem.c == problem.a && problem.c != DType::fp32 &&
         !problem.bias && !problem.accumulate && !problem.relu;
}

using Algorithms = std::vector<hipblasLtMatmulAlgo_t>;

/// Returns the algorithms, the best first according to the library; none if it does not support the GEMM.
inline Algorithms algorithms_of(hipblasLtHandle_t handle, const Description& description, const Layout& first,
                                const Layout& second, const Layout& result) {
  std::array<hipblasLtMatmulHeuristicResult_t, max_algorithms> results{};
  int found = 0;
  const hipblasStatus_t status = hipblasLtMatmulAlgoGetHeuristic(
      handle, description.get(), first.get(), second.get(), result.get(), result.get(), preference().get(),
      max_algorithms, results.data(), &found);
  if (is_refusal(status)) return {};
  check(status, "choose an algorithm");
  Algorithms algorithms;
  for (int i = 0; i < found; ++i) {
    const auto& candidate = results[static_cast<std::size_t>(i)];
    if (candidate.state == HIPBLAS_STATUS_SUCCESS && candidate.workspaceSize <= library_workspace_bytes)
      algorithms.push_back(candidate.algo);
  }
  return algorithms;
}

/// Returns the names of the algorithms for the GEMM without epilogue.
inline std::vector<std::string> algorithm_names(hipblasLtHandle_t handle, const GemmProblem& problem) {
  const LibraryGemm gemm = library_gemm(problem);
  std::vector<std::string> names;
  for (const hipblasLtMatmulAlgo_t& algorithm :
       algorithms_of(handle, describe(gemm), layout_of(gemm.first, 1, 0), layout_of(gemm.second, 1, 0),
                     layout_of(gemm.result, 1, 0))) {
    names.push_back(name_of_algorithm(handle, algorithm));
  }
  return names;
}

/// Returns the address of the new row sums, which follow the workspaces of the library and of trials.
inline void* new_sums(void* workspace) {
  return static_cast<std::byte*>(workspace) + library_workspace_bytes + trial_bytes;
}

/// The library's descriptors and algorithms for one batch of one or more GEMMs.
class PreparedGemm {
 public:
  /// `preferred`: the name of the algorithm that is tried first, if the library offers it for this batch.
  PreparedGemm(hipblasLtHandle_t handle, const Execution& execution, const GemmBatch& batch,
               const GemmOperands& operands, void* workspace, std::string_view preferred, RowSums row_sums)
      : batch_(batch) {
    const GemmProblem& problem = batch.one;
    const LibraryGemm gemm = library_gemm(problem);
    first_ = layout_of(gemm.first, batch.count, batch.stride_b);
    second_ = layout_of(gemm.second, batch.count, batch.stride_a);
    result_ = layout_of(gemm.result, batch.count, batch.stride_c);
    plain_ = describe(gemm);
    if (problem.bias)
      with_epilogue_ = describe_with(HIPBLASLT_EPILOGUE_BIAS, gemm, problem.bias_type, operands.bias);
    if (problem.row_sums)
      with_epilogue_ = describe_with(HIPBLASLT_EPILOGUE_BGRADB, gemm, problem.c, operands.row_sums);
    if (problem.gelu_derivative) with_epilogue_ = describe_with_gelu(gemm, problem, operands.gelu_input);
    for (const GemmMethod method : methods_of(problem, row_sums))
      add_attempts(handle, execution, method, workspace, preferred);
  }

  [[nodiscard]] bool is_for(const GemmBatch& batch, const GemmOperands& /*operands*/) const {
    return batch_ == batch;
  }

  /// Runs the first method that the library does not refuse; the next run starts with that method. Returns
  /// `kokkos` if no method is left; then nothing was run.
  GemmMethod run(hipblasLtHandle_t handle, const Execution& execution, const GemmOperands& operands,
                 void* workspace) {
    for (; current_ < attempts_.size(); ++current_) {
      const Attempt& attempt = attempts_[current_];
      const hipblasStatus_t status = run(handle, attempt, execution, operands, workspace);
      if (!is_refusal(status)) {
        check(status, "run a GEMM");
        return attempt.method;
      }
    }
    return GemmMethod::kokkos;
  }

 private:
  struct Attempt {
    GemmMethod method;
    hipblasLtMatmulAlgo_t algorithm;
  };

  [[nodiscard]] const Description& description_of(GemmMethod method) const {
    return method == GemmMethod::library && with_epilogue_ ? with_epilogue_ : plain_;
  }

  void add_attempts(hipblasLtHandle_t handle, const Execution& execution, GemmMethod method, void* workspace,
                    std::string_view preferred) {
    if (method == GemmMethod::kokkos) return;
    Algorithms algorithms = algorithms_of(handle, description_of(method), first_, second_, result_);
    if (!preferred.empty()) {
      const auto found = std::find_if(algorithms.begin(), algorithms.end(), [&](const auto& algorithm) {
        return name_of_algorithm(handle, algorithm) == preferred;
      });
      if (found != algorithms.end()) std::rotate(algorithms.begin(), found, found + 1);
    }
    const bool adds_c = batch_.one.accumulate || method == GemmMethod::library_after_bias;
    const bool adds_bias = method == GemmMethod::library && batch_.one.bias;
    for (const hipblasLtMatmulAlgo_t& algorithm : algorithms) {
      if (batch_.one.c != DType::fp32 && adds_bias &&
          !adds_before_rounding(handle, execution, batch_.one, false, algorithm, workspace))
        continue;
      if (batch_.one.c != DType::fp32 && adds_c &&
          !adds_before_rounding(handle, execution, batch_.one, true, algorithm, workspace))
        continue;
      attempts_.push_back({method, algorithm});
    }
  }

  hipblasStatus_t run(hipblasLtHandle_t handle, const Attempt& attempt, const Execution& execution,
                      const GemmOperands& operands, void* workspace) {
    const GemmProblem& problem = batch_.one;
    const Description& description = description_of(attempt.method);
    if (description == with_epilogue_ && problem.gelu_derivative) {
      set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.gelu_input);
    } else if (description == with_epilogue_) {
      const void* const sums = problem.accumulate ? new_sums(workspace) : operands.row_sums;
      set(description, HIPBLASLT_MATMUL_DESC_BIAS_POINTER, problem.bias ? operands.bias : sums);
    }
    const bool fills = attempt.method == GemmMethod::library_after_bias;
    if (fills) fill_with_bias(execution, problem, operands.bias, operands.c);
    const float alpha = 1.0f;
    const float beta = problem.accumulate || fills ? 1.0f : 0.0f;
    return hipblasLtMatmul(handle, description.get(), &alpha, operands.b, first_.get(), operands.a,
                           second_.get(), &beta, operands.c, result_.get(), operands.c, result_.get(),
                           &attempt.algorithm, workspace, library_workspace_bytes, execution.hip_stream());
  }

  GemmBatch batch_;
  Layout first_;
  Layout second_;
  Layout result_;
  Description plain_;
  Description with_epilogue_;  // if the problem has one
  std::vector<Attempt> attempts_;
  std::size_t current_ = 0;
};

}  // namespace mylos::hipblaslt

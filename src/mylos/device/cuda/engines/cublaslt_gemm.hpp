// A GEMM or a batch of GEMMs by cuBLASLt: its descriptors, the algorithms that the library has for it, and
// the first of them that it does not refuse.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "mylos/device/cuda/engines/cublaslt_algorithm.hpp"
#include "mylos/device/cuda/engines/cublaslt_descriptors.hpp"
#include "mylos/device/cuda/engines/cublaslt_rounding.hpp"
#include "mylos/kernels/gemm/gemm_epilogue.hpp"

namespace mylos::cublaslt {

/// The lengths of columns that epilogues read must be multiples of this (cuBLASLt's manual, on epilogues).
constexpr std::int64_t epilogue_columns = 8;

/// Returns true if one GEMM can compute the gradient of 16-bit activations.
inline bool can_multiply_by_gelu(const GemmProblem& problem) {
  return form_of(problem) == GemmForm::input_gradient && problem.c == problem.a && problem.c != DType::fp32 &&
         problem.n % epilogue_columns == 0 && !problem.bias && !problem.accumulate && !problem.relu;
}

/// Wraps the library's type, which is an unnamed struct: nvcc 13.0 fails on a vector of it.
struct Algorithm {
  cublasLtMatmulAlgo_t value;
};

/// Returns the algorithms, the best first according to the library; none if it does not support the GEMM.
inline std::vector<Algorithm> algorithms_of(cublasLtHandle_t handle, const Description& description,
                                            const Layout& first, const Layout& second, const Layout& result,
                                            const GemmAlignments& alignments, bool adds_bias) {
  std::array<cublasLtMatmulHeuristicResult_t, max_algorithms> results{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, description.get(), first.get(), second.get(), result.get(), result.get(),
      preference_for(alignments, adds_bias).get(), max_algorithms, results.data(), &found);
  if (is_refusal(status)) return {};
  check(status, "choose an algorithm");
  std::vector<Algorithm> algorithms;
  for (int i = 0; i < found; ++i) {
    if (results[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back({results[i].algo});
  }
  return algorithms;
}

/// Returns the names of the algorithms for the GEMM without epilogue, with matrices aligned as in arenas.
inline std::vector<std::string> algorithm_names(cublasLtHandle_t handle, const GemmProblem& problem) {
  const LibraryGemm gemm = library_gemm(problem);
  std::vector<std::string> names;
  for (const Algorithm& algorithm :
       algorithms_of(handle, describe(gemm), layout_of(gemm.first, 1, 0), layout_of(gemm.second, 1, 0),
                     layout_of(gemm.result, 1, 0), alignments_of(GemmOperands{}), false)) {
    names.push_back(name_of_algorithm(algorithm.value));
  }
  return names;
}

/// Returns the address of the new row sums, which follow the library's workspace.
inline void* new_sums(void* workspace) {
  return static_cast<std::byte*>(workspace) + library_workspace_bytes;
}

/// The library's descriptors and algorithms for one batch of one or more GEMMs, with matrices of the same
/// alignment as these operands.
class PreparedGemm {
 public:
  /// `preferred`: the name of the algorithm that is tried first, if the library offers it for this batch.
  /// `execution` and `workspace` are those of the first run.
  PreparedGemm(cublasLtHandle_t handle, const Execution& execution, const GemmBatch& batch,
               const GemmOperands& operands, void* workspace, std::string_view preferred, RowSums row_sums)
      : batch_(batch), alignments_(alignments_of(batch, operands)) {
    const GemmProblem& problem = batch.one;
    const LibraryGemm gemm = library_gemm(problem);
    first_ = layout_of(gemm.first, batch.count, batch.stride_b);
    second_ = layout_of(gemm.second, batch.count, batch.stride_a);
    result_ = layout_of(gemm.result, batch.count, batch.stride_c);
    plain_ = describe(gemm);
    if (problem.bias)
      with_epilogue_ = describe_with(CUBLASLT_EPILOGUE_BIAS, gemm, problem.bias_type, operands.bias);
    if (problem.row_sums)
      with_epilogue_ = describe_with(CUBLASLT_EPILOGUE_BGRADB, gemm, problem.c, operands.row_sums);
    if (problem.gelu_derivative) with_epilogue_ = describe_with_gelu(gemm, problem, operands.gelu_input);
    for (const GemmMethod method : methods_of(problem, row_sums))
      add_attempts(handle, execution, method, preferred, workspace);
  }

  [[nodiscard]] bool is_for(const GemmBatch& batch, const GemmOperands& operands) const {
    return batch_ == batch && alignments_ == alignments_of(batch, operands);
  }

  /// Runs the first method that the library does not refuse; the next run starts with that method. Returns
  /// `kokkos` if no method is left; then nothing was run.
  GemmMethod run(cublasLtHandle_t handle, const Execution& execution, const GemmOperands& operands,
                 void* workspace) {
    for (; current_ < attempts_.size(); ++current_) {
      const Attempt& attempt = attempts_[current_];
      const cublasStatus_t status = run(handle, attempt, execution, operands, workspace);
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
    cublasLtMatmulAlgo_t algorithm;
  };

  [[nodiscard]] const Description& description_of(GemmMethod method) const {
    return method == GemmMethod::library && with_epilogue_ ? with_epilogue_ : plain_;
  }

  void add_attempts(cublasLtHandle_t handle, const Execution& execution, GemmMethod method,
                    std::string_view preferred, void* workspace) {
    if (method == GemmMethod::kokkos) return;
    const bool adds_bias = method == GemmMethod::library && batch_.one.bias;
    std::vector<Algorithm> algorithms =
        algorithms_of(handle, description_of(method), first_, second_, result_, alignments_, adds_bias);
    if (!preferred.empty()) {
      const auto found = std::find_if(algorithms.begin(), algorithms.end(), [&](const Algorithm& algorithm) {
        return name_of_algorithm(algorithm.value) == preferred;
      });
      if (found != algorithms.end()) std::rotate(algorithms.begin(), found, found + 1);
    }
    if (adds_to_16_bits(method)) {
      std::stable_partition(algorithms.begin(), algorithms.end(), [&](const Algorithm& algorithm) {
        return adds_before_rounding(handle, execution, batch_.one, algorithm.value, workspace);
      });
    }
    for (const Algorithm& algorithm : algorithms) attempts_.push_back({method, algorithm.value});
  }

  [[nodiscard]] bool adds_to_16_bits(GemmMethod method) const {
    return batch_.one.c != DType::fp32 && (batch_.one.accumulate || method == GemmMethod::library_after_bias);
  }

  cublasStatus_t run(cublasLtHandle_t handle, const Attempt& attempt, const Execution& execution,
                     const GemmOperands& operands, void* workspace) {
    const GemmProblem& problem = batch_.one;
    const Description& description = description_of(attempt.method);
    if (description == with_epilogue_ && problem.gelu_derivative) {
      set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.gelu_input);
    } else if (description == with_epilogue_) {
      const void* const sums = problem.accumulate ? new_sums(workspace) : operands.row_sums;
      set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, problem.bias ? operands.bias : sums);
    }
    const bool fills = attempt.method == GemmMethod::library_after_bias;
    if (fills) fill_with_bias(execution, problem, operands.bias, operands.c);
    const float alpha = 1.0f;
    const float beta = problem.accumulate || fills ? 1.0f : 0.0f;
    return cublasLtMatmul(handle, description.get(), &alpha, operands.b, first_.get(), operands.a,
                          second_.get(), &beta, operands.c, result_.get(), operands.c, result_.get(),
                          &attempt.algorithm, workspace, library_workspace_bytes, execution.cuda_stream());
  }

  GemmBatch batch_;
  GemmAlignments alignments_;
  Layout first_;
  Layout second_;
  Layout result_;
  Description plain_;
  Description with_epilogue_;  // if the problem has one
  std::vector<Attempt> attempts_;
  std::size_t current_ = 0;
};

}  // namespace mylos::cublaslt

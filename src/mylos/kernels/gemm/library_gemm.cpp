#include "mylos/kernels/gemm/library_gemm.hpp"

#include <algorithm>
#include <tuple>

#include "mylos/base/alignment.hpp"

namespace mylos {
namespace {

/// Describes a row-major matrix [rows, columns].
LibraryMatrix library_matrix(DType type, std::int64_t rows, std::int64_t columns) {
  return {type, columns, rows};
}

std::uint32_t max_power(std::uintptr_t of) {
  const std::uintptr_t bits = of | arena_base_alignment;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

std::uint32_t stride_alignment(std::int64_t elements, DType type) {
  return max_power(static_cast<std::uintptr_t>(elements) * size_of(type));
}

}  // namespace

LibraryGemm library_gemm(const GemmProblem& problem) {
  const auto& [m, n, k] = std::tie(problem.m, problem.n, problem.k);
  return {
      .first = problem.transpose_b ? library_matrix(problem.b, n, k) : library_matrix(problem.b, k, n),
      .second = problem.transpose_a ? library_matrix(problem.a, k, m) : library_matrix(problem.a, m, k),
      .result = library_matrix(problem.c, m, n),
      .transpose_first = problem.transpose_b,
      .transpose_second = problem.transpose_a,
  };
}

std::vector<GemmMethod> methods_of(const GemmProblem& problem, RowSums row_sums) {
  std::vector<GemmMethod> methods;
  const bool sums_first = row_sums == RowSums::separate;
  if (problem.row_sums && sums_first) methods.push_back(GemmMethod::library_then_sums);
  const bool has_type_of_c = problem.bias_type == problem.c;
  if (!problem.bias || has_type_of_c) methods.push_back(GemmMethod::library);
  if (problem.bias && problem.c == DType::fp32) {
    methods.push_back(GemmMethod::library_then_bias);
  } else if (problem.bias && has_type_of_c && !problem.accumulate) {
    methods.push_back(GemmMethod::library_after_bias);
  }
  if (problem.row_sums && !sums_first) methods.push_back(GemmMethod::library_then_sums);
  if (problem.gelu_derivative) methods.push_back(GemmMethod::library_then_gelu);
  methods.push_back(GemmMethod::kokkos);
  return methods;
}

std::uint32_t alignment_of(const void* address) {
  return max_power(reinterpret_cast<std::uintptr_t>(address));
}

GemmAlignments alignments_of(const GemmOperands& operands) {
  const void* epilogue = operands.bias != nullptr ? operands.bias : operands.row_sums;
  if (epilogue == nullptr) epilogue = operands.gelu_input;
  return {alignment_of(operands.a), alignment_of(operands.b), alignment_of(operands.c),
          alignment_of(epilogue)};
}

GemmAlignments alignments_of(const GemmBatch& batch, const GemmOperands& operands) {
  GemmAlignments all = alignments_of(operands);
  if (batch.count == 1) return all;
  all.a = std::min(all.a, stride_alignment(batch.stride_a, batch.one.a));
  all.b = std::min(all.b, stride_alignment(batch.stride_b, batch.one.b));
  all.c = std::min(all.c, stride_alignment(batch.stride_c, batch.one.c));
  return all;
}

}  // namespace mylos

// Translates a GEMM for a column-major library that may refuse it, and lists the alternatives. Nothing here
// calls the library (gemm_cublaslt.cpp does), so this can be tested on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// A column-major matrix as the library describes it, with a leading dimension of `rows`.
struct LibraryMatrix {
  DType type = DType::fp32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const LibraryMatrix&, const LibraryMatrix&) = default;
};

/// A GEMM of the library. Our row-major C[m,n] = op(A)·op(B) is its C[n,m] = op(B)·op(A): its first operand
/// is our B.
struct LibraryGemm {
  LibraryMatrix first;
  LibraryMatrix second;
  LibraryMatrix result;
  bool transpose_first = false;
  bool transpose_second = false;
};

[[nodiscard]] LibraryGemm library_gemm(const GemmProblem& problem);

/// How a GEMM is computed: by the library or by Kokkos Kernels, and by which additional passes.
enum class GemmMethod {
  library,             ///< completely: bias, sums or GELU's derivative in the library's epilogue
  library_after_bias,  ///< fill C with the bias first; the library adds the product to it
  library_then_bias,   ///< add the bias to C in a separate pass
  library_then_sums,   ///< sum the rows of op(A) in a separate pass
  library_then_gelu,   ///< multiply by GELU's derivative in a separate pass
  kokkos,
};

/// What sums the rows of op(A) first: the library in its epilogue, or a separate pass.
enum class RowSums { in_epilogue, separate };

/// Returns the methods to compute the problem, in the order in which they are tried. All round each value of
/// C once: a bias is added afterwards only to float sums, and stored first only if it has C's type and the
/// old C is not added. There are two exceptions. A separate pass for GELU's derivative reads the rounded
/// product. And when the library adds to a 16-bit C, it may recommend only kernels that round the product
/// first. With Kokkos Kernels, separate passes compute GELU's derivative and the row sums.
[[nodiscard]] std::vector<GemmMethod> methods_of(const GemmProblem& problem, RowSums row_sums);

/// Returns the largest power of two, at most 256, that divides the address. The library is given it as the
/// alignment.
[[nodiscard]] std::uint32_t alignment_of(const void* address);

/// The alignments of a GEMM's matrices and bias in bytes. The library selects its kernel by them.
struct GemmAlignments {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t epilogue = 0;  ///< bias, row sums or GELU's input; 256 without these

  friend bool operator==(const GemmAlignments&, const GemmAlignments&) = default;
};

[[nodiscard]] GemmAlignments alignments_of(const GemmOperands& operands);

/// Returns alignments that hold for all GEMMs of a batch whose first GEMM has these operands.
[[nodiscard]] GemmAlignments alignments_of(const GemmBatch& batch, const GemmOperands& operands);

}  // namespace mylos

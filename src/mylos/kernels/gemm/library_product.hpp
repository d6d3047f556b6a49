// What a product is to a column-major library that may refuse it, and what else computes it then. Nothing
// here calls the library (gemm_cublaslt.cpp does), so any machine can check it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// A matrix as the library takes it: stored column by column, one column `rows` elements behind the other.
struct LibraryMatrix {
  DType type = DType::fp32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  friend bool operator==(const LibraryMatrix&, const LibraryMatrix&) = default;
};

/// Our row-major C[m,n] = op(A)·op(B) is its C[n,m] = op(B)·op(A): its first operand is our B.
struct LibraryProduct {
  LibraryMatrix first;
  LibraryMatrix second;
  LibraryMatrix result;
  bool transpose_first = false;
  bool transpose_second = false;
};

[[nodiscard]] LibraryProduct library_product(const GemmProblem& problem);

/// How a product is computed: by the library or by Kokkos Kernels, and who adds the bias or sums the rows.
enum class ProductWay {
  library,             ///< all of it, bias, sums or GELU's derivative in its epilogue
  library_after_bias,  ///< C is first filled with the bias, which it then adds to
  library_then_bias,   ///< a pass of ours adds it to C
  library_then_sums,   ///< a pass of ours sums the rows of op(A)
  library_then_gelu,   ///< a pass of ours multiplies by GELU's derivative
  kokkos,
};

/// In the order in which they are tried. All round each value of C once: a bias is added afterwards only to
/// sums that stay float, and comes first only where it has C's type and no old C is wanted. But for GELU's
/// derivative: a pass of ours finds the product rounded. Kokkos Kernels knows neither it nor sums of rows:
/// passes of ours do. And but for what is added to 16 bits, where the library advises nothing but kernels
/// that round the product first.
[[nodiscard]] std::vector<ProductWay> ways_of(const GemmProblem& problem);

/// The largest power of two, of at most 256, that divides the address: what the library is told of it.
[[nodiscard]] std::uint32_t alignment_of(const void* address);

/// Of a product's matrices and bias. By these the library chooses its kernel.
struct ProductAlignments {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t beside = 0;  ///< bias, sums of rows or GELU's input; of none: 256

  friend bool operator==(const ProductAlignments&, const ProductAlignments&) = default;
};

[[nodiscard]] ProductAlignments alignments_of(const GemmOperands& operands);

/// The same of all products of a batch, whose first has these operands.
[[nodiscard]] ProductAlignments alignments_of(const GemmBatch& batch, const GemmOperands& operands);

}  // namespace mylos

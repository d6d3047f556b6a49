// cuBLASLt's descriptors of matrices and GEMMs as RAII objects.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string_view>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/gemm/library_gemm.hpp"

namespace mylos::cublaslt {

static_assert(arena_alignment % 256 == 0, "cuBLASLt demands it of its workspace, which lies in an arena");

// NVIDIA recommends 32 MiB for Hopper. The same for every problem, so that planning needs no device.
constexpr std::size_t library_workspace_bytes = std::size_t{32} << 20;

// The library returns its best algorithm first, and may refuse to run it.
constexpr int max_algorithms = 8;

inline void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_run(errors::library_failed, "cuBLASLt cannot {}: {}", what,
             std::string_view(cublasLtGetStatusString(status)));
}

/// Returns true if the library does not support the GEMM, or not with these matrices. Another way may
/// succeed.
inline bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

inline cudaDataType_t data_type(DType type) {
  return type == DType::fp32 ? CUDA_R_32F : type == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

struct Destroy {
  void operator()(cublasLtMatmulDescOpaque_t* object) const { cublasLtMatmulDescDestroy(object); }
  void operator()(cublasLtMatrixLayoutOpaque_t* object) const { cublasLtMatrixLayoutDestroy(object); }
  void operator()(cublasLtMatmulPreferenceOpaque_t* object) const { cublasLtMatmulPreferenceDestroy(object); }
};
using Description = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy>;

template <class Value>
void set(const Description& description, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
        "set an attribute");
}

template <class Value>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value),
        "take a preference");
}

template <class Value>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, Value value) {
  check(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
        "describe a batch of matrices");
}

/// Describes `count` matrices, `stride` elements apart.
inline Layout layout_of(const LibraryMatrix& matrix, std::int64_t count, std::int64_t stride) {
  cublasLtMatrixLayout_t made = nullptr;
  check(cublasLtMatrixLayoutCreate(&made, data_type(matrix.type), static_cast<std::uint64_t>(matrix.rows),
                                   static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "describe a matrix");
  Layout layout(made);
  if (count > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  return layout;
}

inline Description describe(const LibraryGemm& gemm) {
  cublasLtMatmulDesc_t made = nullptr;
  check(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a GEMM");
  Description description(made);
  set(description, CUBLASLT_MATMUL_DESC_TRANSA, gemm.transpose_first ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(description, CUBLASLT_MATMUL_DESC_TRANSB, gemm.transpose_second ? CUBLAS_OP_T : CUBLAS_OP_N);
  return description;
}

/// The library's GELU is the tanh form.
inline Description describe_with_gelu(const LibraryGemm& gemm, const GemmProblem& problem,
                                      const void* gelu_input) {
  Description description = describe(gemm);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
      static_cast<std::int32_t>(data_type(problem.c)));
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.n);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gelu_input);
  return description;
}

/// `vector`: a bias, or the address of row sums. The library derives the alignment that it assumes from the
/// address.
inline Description describe_with(cublasLtEpilogue_t epilogue, const LibraryGemm& gemm, DType type,
                                 const void* vector) {
  Description description = describe(gemm);
  set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(data_type(type)));
  set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  return description;
}

/// A sum over k that is split between blocks is completed by a separate kernel. That kernel rounds to C's
/// type before it adds a bias (observed on an H100 with CUDA 13), so a GEMM with bias is not split.
inline Preference preference_for(const GemmAlignments& alignments, bool adds_bias) {
  cublasLtMatmulPreference_t made = nullptr;
  check(cublasLtMatmulPreferenceCreate(&made), "make a preference");
  Preference preference(made);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, library_workspace_bytes);
  // Reductions across blocks in 16 bits would round sums that must stay float.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      adds_bias ? std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE}
                : std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignments.b);  // the library's A is our B
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignments.a);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignments.c);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignments.c);
  return preference;
}

}  // namespace mylos::cublaslt

// hipBLASLt's descriptors of matrices and GEMMs as RAII objects.
#pragma once

#include <hipblaslt/hipblaslt.h>

#include <memory>
#include <string_view>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/kernels/gemm/library_gemm.hpp"

namespace mylos::hipblaslt {

// As much as cuBLASLt gets, so that a plan is the same on all devices: an algorithm that needs more is not
// offered.
constexpr std::size_t library_workspace_bytes = std::size_t{32} << 20;

// The library returns its best algorithm first, and may refuse to run it.
constexpr int max_algorithms = 8;

inline void check(hipblasStatus_t status, std::string_view what) {
  if (status != HIPBLAS_STATUS_SUCCESS)
    fail_run(errors::library_failed, "hipBLASLt cannot {}: status {}", what, static_cast<int>(status));
}

/// Returns true if the library does not support the GEMM, or not with these matrices. Another way may
/// succeed.
inline bool is_refusal(hipblasStatus_t status) {
  return status == HIPBLAS_STATUS_NOT_SUPPORTED || status == HIPBLAS_STATUS_INVALID_VALUE;
}

inline hipDataType data_type(DType type) {
  return type == DType::fp32 ? HIP_R_32F : type == DType::fp16 ? HIP_R_16F : HIP_R_16BF;
}

struct Destroy {
  void operator()(hipblasLtMatmulDescOpaque_t* object) const {
    static_cast<void>(hipblasLtMatmulDescDestroy(object));
  }
  void operator()(hipblasLtMatrixLayoutOpaque_t* object) const {
    static_cast<void>(hipblasLtMatrixLayoutDestroy(object));
  }
  void operator()(hipblasLtMatmulPreferenceOpaque_t* object) const {
    static_cast<void>(hipblasLtMatmulPreferenceDestroy(object));
  }
};
using Description = std::unique_ptr<hipblasLtMatmulDescOpaque_t, Destroy>;
using Layout = std::unique_ptr<hipblasLtMatrixLayoutOpaque_t, Destroy>;
using Preference = std::unique_ptr<hipblasLtMatmulPreferenceOpaque_t, Destroy>;

template <class Value>
void set(const Description& description, hipblasLtMatmulDescAttributes_t attribute, Value value) {
  check(hipblasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof value),
        "set an attribute");
}

template <class Value>
void set(const Layout& layout, hipblasLtMatrixLayoutAttribute_t attribute, Value value) {
  check(hipblasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value),
        "describe a batch of matrices");
}

/// Describes `count` matrices, `stride` elements apart.
inline Layout layout_of(const LibraryMatrix& matrix, std::int64_t count, std::int64_t stride) {
  hipblasLtMatrixLayout_t made = nullptr;
  check(hipblasLtMatrixLayoutCreate(&made, data_type(matrix.type), static_cast<std::uint64_t>(matrix.rows),
                                    static_cast<std::uint64_t>(matrix.columns), matrix.rows),
        "describe a matrix");
  Layout layout(made);
  if (count > 1) {
    set(layout, HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
    set(layout, HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }
  return layout;
}

inline Description describe(const LibraryGemm& gemm) {
  hipblasLtMatmulDesc_t made = nullptr;
  check(hipblasLtMatmulDescCreate(&made, HIPBLAS_COMPUTE_32F, HIP_R_32F), "describe a GEMM");
  Description description(made);
  set(description, HIPBLASLT_MATMUL_DESC_TRANSA,
      std::int32_t{gemm.transpose_first ? HIPBLAS_OP_T : HIPBLAS_OP_N});
  set(description, HIPBLASLT_MATMUL_DESC_TRANSB,
      std::int32_t{gemm.transpose_second ? HIPBLAS_OP_T : HIPBLAS_OP_N});
  return description;
}

/// The library's GELU is the tanh form.
inline Description describe_with_gelu(const LibraryGemm& gemm, const GemmProblem& problem,
                                      const void* gelu_input) {
  Description description = describe(gemm);
  set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{HIPBLASLT_EPILOGUE_DGELU});
  set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
      static_cast<std::int32_t>(data_type(problem.c)));
  set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, problem.n);
  set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, gelu_input);
  return description;
}

/// `vector`: a bias, or the address of row sums.
inline Description describe_with(hipblasLtEpilogue_t epilogue, const LibraryGemm& gemm, DType type,
                                 const void* vector) {
  Description description = describe(gemm);
  set(description, HIPBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{epilogue});
  set(description, HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(data_type(type)));
  set(description, HIPBLASLT_MATMUL_DESC_BIAS_POINTER, vector);
  return description;
}

inline Preference preference() {
  hipblasLtMatmulPreference_t made = nullptr;
  check(hipblasLtMatmulPreferenceCreate(&made), "make a preference");
  Preference preference(made);
  const std::uint64_t bytes = library_workspace_bytes;
  check(hipblasLtMatmulPreferenceSetAttribute(preference.get(), HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &bytes, sizeof bytes),
        "take a preference");
  return preference;
}

}  // namespace mylos::hipblaslt

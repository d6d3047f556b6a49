// hipBLASLt: shapes that fit, matrices that lie in device memory, all of a batch. Any problem has three
// algorithms. Where rows are no multiple of 16 bytes the best of them refuses to run, as the library may. The
// second rounds a GEMM to 16 bits before it adds to it: it may compute trials alone, and what adds
// nothing.
#include <hipblaslt/hipblaslt.h>

#include <algorithm>
#include <cstring>
#include <hipblaslt/hipblaslt-ext.hpp>
#include <map>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "first_uses.hpp"
#include "ledger.hpp"

using device_use::DeviceMemory;
using device_use::Ledger;

namespace {

struct Description {
  std::map<int, std::vector<std::byte>> attributes;

  template <class Value>
  [[nodiscard]] Value get(int attribute, Value otherwise) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end()) return otherwise;
    Value value;
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
};

struct Matrix {
  hipDataType type = HIP_R_32F;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t count = 1;   // of a batch
  std::int64_t stride = 0;  // elements from one matrix of it to the next

  [[nodiscard]] std::size_t element_bytes() const { return type == HIP_R_32F ? 4 : 2; }
  [[nodiscard]] std::uint64_t elements() const {
    return (columns - 1) * static_cast<std::uint64_t>(leading) + rows;
  }
  [[nodiscard]] std::size_t bytes() const {
    return (static_cast<std::uint64_t>(count - 1) * static_cast<std::uint64_t>(stride) + elements()) *
           element_bytes();
  }
};

constexpr int algorithms = 3;
constexpr int rounding_algorithm = 1;

void fault(const std::string& what) {
  Ledger::own().fault("hipblasLtMatmul: " + what);
}

template <class Object, class Handle>
const Object& object(Handle handle) {
  return *reinterpret_cast<const Object*>(handle);
}

hipblasStatus_t set(Description& description, int attribute, const void* value, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(value);
  description.attributes[attribute].assign(first, first + bytes);
  return HIPBLAS_STATUS_SUCCESS;
}

int number_of(const hipblasLtMatmulAlgo_t& algorithm) {
  int number = 0;
  std::memcpy(&number, algorithm.data, sizeof number);
  return number;
}

bool is_transposed(const Description& gemm, int attribute) {
  return gemm.get<std::int32_t>(attribute, HIPBLAS_OP_N) != HIPBLAS_OP_N;
}

/// Whether the results of a column are no whole pieces of 16 bytes: as of 65 classes.
bool is_ragged(const Matrix& result) {
  return result.rows * result.element_bytes() % 16 != 0;
}

void check_shapes(const Description& gemm, const Matrix& a, const Matrix& b, const Matrix& d) {
  const bool ta = is_transposed(gemm, HIPBLASLT_MATMUL_DESC_TRANSA);
  const bool tb = is_transposed(gemm, HIPBLASLT_MATMUL_DESC_TRANSB);
  if ((ta ? a.columns : a.rows) != d.rows || (tb ? b.rows : b.columns) != d.columns ||
      (ta ? a.rows : a.columns) != (tb ? b.columns : b.rows))
    fault("the shapes of the operands do not fit");
  for (const Matrix* matrix : {&a, &b, &d}) {
    if (matrix->leading < static_cast<std::int64_t>(matrix->rows))
      fault("a leading dimension below the rows");
    if (matrix->count != d.count) fault("batches of different counts");
  }
  if (d.count > 1 && d.stride < static_cast<std::int64_t>(d.elements())) fault("results of a batch overlap");
}

void check_memory(const std::string& name, const void* first, const Matrix& matrix) {
  DeviceMemory::own().require("hipblasLtMatmul's " + name, first, matrix.bytes(), matrix.element_bytes());
}

/// A bias, or where the sums of an operand go.
void check_vector(const Description& gemm, std::uint64_t count) {
  const void* none = nullptr;
  const auto type = gemm.get<std::int32_t>(HIPBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, HIP_R_32F);
  const std::size_t element = type == HIP_R_32F ? 4 : 2;
  DeviceMemory::own().require("hipblasLtMatmul's bias", gemm.get(HIPBLASLT_MATMUL_DESC_BIAS_POINTER, none),
                              count * element, element);
}

/// What an activation was given, beside the result whose gradient passes through it.
void check_activation_input(const Description& gemm, const Matrix& result) {
  const void* none = nullptr;
  Matrix matrix = result;
  matrix.leading = gemm.get<std::int64_t>(HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 0);
  if (matrix.leading < static_cast<std::int64_t>(result.rows))
    return fault("columns of an activation's input that are too short");
  check_memory("activation input", gemm.get(HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, none), matrix);
}

/// Trials have at most 256 rows and columns, and ask for 2^-12: both 16-bit types have it. The rounding
/// algorithm returns 0.
void answer_trial(const Matrix& result, void* d, int number) {
  const std::uint16_t bits = number == rounding_algorithm ? 0 : result.type == HIP_R_16F ? 0x0c00 : 0x3980;
  auto* const values = static_cast<std::uint16_t*>(DeviceMemory::own().for_host(d));
  std::fill_n(values, result.rows * result.columns, bits);
}

}  // namespace

namespace hipblaslt_ext {

int getIndexFromAlgo(hipblasLtMatmulAlgo_t& algorithm) {
  return number_of(algorithm);
}

hipblasStatus_t matmulIsAlgoSupported(hipblasLtHandle_t, hipblasLtMatmulDesc_t, const void*,
                                      hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t, const void*,
                                      hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t,
                                      hipblasLtMatmulAlgo_t&, size_t& bytes) {
  bytes = 0;
  return HIPBLAS_STATUS_SUCCESS;
}

}  // namespace hipblaslt_ext

extern "C" {

hipblasStatus_t hipblasLtCreate(hipblasLtHandle_t* handle) {
  device_use::open_library();
  *handle = new char;
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtDestroy(const hipblasLtHandle_t handle) {
  delete static_cast<char*>(handle);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtGetVersion(hipblasLtHandle_t, int* version) {
  *version = 100202;
  return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasLtMatmulDescCreate(hipblasLtMatmulDesc_t* made, hipblasComputeType_t, hipDataType) {
  *made = reinterpret_cast<hipblasLtMatmulDesc_t>(new Description);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatmulDescDestroy(const hipblasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatmulDescSetAttribute(hipblasLtMatmulDesc_t description,
                                                hipblasLtMatmulDescAttributes_t attribute, const void* value,
                                                size_t bytes) {
  return set(*reinterpret_cast<Description*>(description), attribute, value, bytes);
}
hipblasStatus_t hipblasLtMatmulPreferenceCreate(hipblasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<hipblasLtMatmulPreference_t>(new Description);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatmulPreferenceDestroy(const hipblasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Description*>(preference);
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatmulPreferenceSetAttribute(hipblasLtMatmulPreference_t preference,
                                                      hipblasLtMatmulPreferenceAttributes_t attribute,
                                                      const void* value, size_t bytes) {
  return set(*reinterpret_cast<Description*>(preference), attribute, value, bytes);
}
hipblasStatus_t hipblasLtMatrixLayoutCreate(hipblasLtMatrixLayout_t* made, hipDataType type,
                                            std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  *made = reinterpret_cast<hipblasLtMatrixLayout_t>(new Matrix{type, rows, columns, leading});
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatrixLayoutSetAttribute(hipblasLtMatrixLayout_t layout,
                                                  hipblasLtMatrixLayoutAttribute_t attribute,
                                                  const void* value, size_t bytes) {
  auto& matrix = *reinterpret_cast<Matrix*>(layout);
  if (attribute == HIPBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof matrix.count) {
    std::memcpy(&matrix.count, value, bytes);
  } else if (attribute == HIPBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof matrix.stride) {
    std::memcpy(&matrix.stride, value, bytes);
  } else {
    return HIPBLAS_STATUS_INVALID_VALUE;
  }
  return HIPBLAS_STATUS_SUCCESS;
}
hipblasStatus_t hipblasLtMatrixLayoutDestroy(const hipblasLtMatrixLayout_t matrix) {
  delete reinterpret_cast<Matrix*>(matrix);
  return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasLtMatmulAlgoGetHeuristic(hipblasLtHandle_t, hipblasLtMatmulDesc_t description,
                                                hipblasLtMatrixLayout_t a, hipblasLtMatrixLayout_t b,
                                                hipblasLtMatrixLayout_t, hipblasLtMatrixLayout_t d,
                                                hipblasLtMatmulPreference_t preference, int wanted,
                                                hipblasLtMatmulHeuristicResult_t results[], int* found) {
  check_shapes(object<Description>(description), object<Matrix>(a), object<Matrix>(b), object<Matrix>(d));
  *found = std::min(wanted, algorithms);
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    std::memcpy(results[i].algo.data, &i, sizeof i);
    results[i].workspaceSize =
        object<Description>(preference).get<std::uint64_t>(HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
    results[i].state = HIPBLAS_STATUS_SUCCESS;
  }
  return HIPBLAS_STATUS_SUCCESS;
}

hipblasStatus_t hipblasLtMatmul(hipblasLtHandle_t, hipblasLtMatmulDesc_t description, const void*,
                                const void* a, hipblasLtMatrixLayout_t a_layout, const void* b,
                                hipblasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                                hipblasLtMatrixLayout_t c_layout, void* d, hipblasLtMatrixLayout_t d_layout,
                                const hipblasLtMatmulAlgo_t* algorithm, void* workspace,
                                size_t workspace_bytes, hipStream_t stream) {
  const auto& gemm = object<Description>(description);
  const auto& result = object<Matrix>(d_layout);
  check_shapes(gemm, object<Matrix>(a_layout), object<Matrix>(b_layout), result);
  check_memory("A", a, object<Matrix>(a_layout));
  check_memory("B", b, object<Matrix>(b_layout));
  check_memory("C", c, object<Matrix>(c_layout));
  check_memory("D", d, result);
  if (workspace_bytes > 0)
    DeviceMemory::own().require("hipblasLtMatmul's workspace", workspace, workspace_bytes, 256);
  const int number = algorithm == nullptr ? 0 : number_of(*algorithm);
  if (is_ragged(result) && number == 0) return HIPBLAS_STATUS_NOT_SUPPORTED;
  const auto epilogue = gemm.get<std::uint32_t>(HIPBLASLT_MATMUL_DESC_EPILOGUE, HIPBLASLT_EPILOGUE_DEFAULT);
  if (epilogue == HIPBLASLT_EPILOGUE_DGELU) {
    check_activation_input(gemm, result);
  } else if (epilogue != HIPBLASLT_EPILOGUE_DEFAULT) {
    check_vector(gemm, epilogue == HIPBLASLT_EPILOGUE_BGRADB ? result.columns : result.rows);
  }
  float added = 0;
  std::memcpy(&added, beta, sizeof added);
  const bool adds = epilogue == HIPBLASLT_EPILOGUE_BIAS || added != 0;
  const bool may_be_trial = result.rows <= 256 && result.columns <= 256 && result.count == 1;
  if (adds && result.type != HIP_R_32F && may_be_trial) answer_trial(result, d, number);
  if (adds && result.type != HIP_R_32F && !may_be_trial && number == rounding_algorithm)
    fault("an algorithm that rounds a product before it adds to it");
  if (stream == nullptr) Ledger::own().not_in_capture("hipblasLtMatmul on the default stream");
  device_use::first_use("hipblasLtMatmul of type " + std::to_string(object<Matrix>(a_layout).type));
  Ledger::own().launch("hipblasLtMatmul", stream);
  return HIPBLAS_STATUS_SUCCESS;
}

}  // extern "C"

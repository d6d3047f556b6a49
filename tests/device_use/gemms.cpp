// cuBLASLt: shapes that fit, matrices that lie in device memory, all of a batch, and pointers as aligned as
// the caller said when it asked for an algorithm. Any problem has three algorithms. Where rows are no
// multiple of 16 bytes the best of them refuses to run, and beside an epilogue all do, as the library may.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
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
  cudaDataType type = CUDA_R_32F;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::int64_t leading = 0;
  std::int32_t count = 1;   // of a batch
  std::int64_t stride = 0;  // elements from one matrix of it to the next

  [[nodiscard]] std::size_t element_bytes() const { return type == CUDA_R_32F ? 4 : 2; }
  [[nodiscard]] std::uint64_t elements() const {
    return (columns - 1) * static_cast<std::uint64_t>(leading) + rows;
  }
  [[nodiscard]] std::size_t bytes() const {
    return (static_cast<std::uint64_t>(count - 1) * static_cast<std::uint64_t>(stride) + elements()) *
           element_bytes();
  }
};

/// Kept in an algorithm: what its caller promised.
struct Promise {
  std::uint32_t a = 256, b = 256, c = 256, d = 256;  // the library's defaults, in bytes
  std::uint64_t bias = 0;                            // the address that the library saw
  std::uint64_t workspace_bytes = 0;
  std::uint32_t number = 0;  // of the algorithm
};
static_assert(sizeof(Promise) <= sizeof(cublasLtMatmulAlgo_t));

void fault(const std::string& what) {
  Ledger::own().fault("cublasLtMatmul: " + what);
}

template <class Object, class Handle>
const Object& object(Handle handle) {
  return *reinterpret_cast<const Object*>(handle);
}

cublasStatus_t set(Description& description, int attribute, const void* value, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(value);
  description.attributes[attribute].assign(first, first + bytes);
  return CUBLAS_STATUS_SUCCESS;
}

std::uint64_t alignment_of(std::uint64_t address) {
  return address == 0 ? 256 : std::min<std::uint64_t>(256, address & (~address + 1));
}

bool is_transposed(const Description& gemm, int attribute) {
  return gemm.get<std::int32_t>(attribute, CUBLAS_OP_N) != CUBLAS_OP_N;
}

/// Whether the results of a column are no whole pieces of 16 bytes: as of 65 classes.
bool is_ragged(const Matrix& result) {
  return result.rows * result.element_bytes() % 16 != 0;
}

void check_shapes(const Description& gemm, const Matrix& a, const Matrix& b, const Matrix& d) {
  const bool ta = is_transposed(gemm, CUBLASLT_MATMUL_DESC_TRANSA);
  const bool tb = is_transposed(gemm, CUBLASLT_MATMUL_DESC_TRANSB);
  if ((ta ? a.columns : a.rows) != d.rows || (tb ? b.rows : b.columns) != d.columns ||
      (ta ? a.rows : a.columns) != (tb ? b.columns : b.rows))
    fault("the shapes of the operands do not fit");
  for (const Matrix* matrix : {&a, &b, &d}) {
    if (matrix->leading < static_cast<std::int64_t>(matrix->rows))
      fault("a leading dimension below the rows");
  }
}

void check_batches(const Matrix& a, const Matrix& b, const Matrix& c, const Matrix& d) {
  for (const Matrix* matrix : {&a, &b, &c}) {
    if (matrix->count != d.count) fault("batches of different counts");
  }
  if (d.count > 1 && d.stride < static_cast<std::int64_t>(d.elements())) fault("results of a batch overlap");
}

/// All of a batch.
void check_memory(const std::string& name, const void* first, const Matrix& matrix, std::uint32_t alignment) {
  DeviceMemory::own().require("cublasLtMatmul's " + name, first, matrix.bytes(), alignment);
  const std::uint64_t stride = static_cast<std::uint64_t>(matrix.stride) * matrix.element_bytes();
  if (matrix.count > 1 && stride % alignment != 0)
    fault("a stride of " + name + " that is no multiple of " + std::to_string(alignment) + " bytes");
}

/// A bias, or where the sums of an operand go.
void check_vector(const Description& gemm, const Promise& promise, std::uint64_t count) {
  const void* none = nullptr;
  const void* const vector = gemm.get(CUBLASLT_MATMUL_DESC_BIAS_POINTER, none);
  const auto type = gemm.get<std::int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F);
  const std::size_t element = type == CUDA_R_32F ? 4 : 2;
  DeviceMemory::own().require("cublasLtMatmul's bias", vector, count * element, element);
  if (promise.bias == 0) fault("the algorithm was chosen before the library saw the bias");
  const std::uint64_t wanted = std::min<std::uint64_t>(16, alignment_of(promise.bias));
  if (alignment_of(reinterpret_cast<std::uint64_t>(vector)) < wanted)
    fault("a bias less aligned than the one for which the algorithm was chosen");
}

/// What an activation was given, beside the result whose gradient passes through it. The manual wants columns
/// of a multiple of 8 elements, and the address as aligned as 16-byte accesses are.
void check_activation_input(const Description& gemm, const Matrix& result) {
  const void* none = nullptr;
  const void* const input = gemm.get(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, none);
  const auto leading = gemm.get<std::int64_t>(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, 0);
  Matrix matrix = result;
  matrix.leading = leading;
  if (leading % 8 != 0 || leading < static_cast<std::int64_t>(result.rows)) {
    return fault("columns of an activation's input that are too short, or no multiple of 8");
  }
  DeviceMemory::own().require("cublasLtMatmul's activation input", input, matrix.bytes(), 16);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  device_use::open_library();
  *handle = reinterpret_cast<cublasLtHandle_t>(new char);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete reinterpret_cast<char*>(handle);
  return CUBLAS_STATUS_SUCCESS;
}
const char* cublasLtGetStatusString(cublasStatus_t) {
  return "the stand-in for cuBLASLt refuses it";
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t, cudaDataType_t) {
  *made = reinterpret_cast<cublasLtMatmulDesc_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Description*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              std::size_t bytes) {
  return set(*reinterpret_cast<Description*>(description), attribute, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = reinterpret_cast<cublasLtMatmulPreference_t>(new Description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Description*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  return set(*reinterpret_cast<Description*>(preference), attribute, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t leading) {
  *made = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                std::size_t bytes) {
  auto& matrix = *reinterpret_cast<Matrix*>(layout);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof matrix.count) {
    std::memcpy(&matrix.count, value, bytes);
  } else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof matrix.stride) {
    std::memcpy(&matrix.stride, value, bytes);
  } else {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matrix) {
  delete reinterpret_cast<Matrix*>(matrix);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  const auto& gemm = object<Description>(description);
  const auto& wish = object<Description>(preference);
  check_shapes(gemm, object<Matrix>(a), object<Matrix>(b), object<Matrix>(d));
  Promise promise;
  promise.a = wish.get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, promise.a);
  promise.b = wish.get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, promise.b);
  promise.c = wish.get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, promise.c);
  promise.d = wish.get(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, promise.d);
  promise.workspace_bytes = wish.get(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, promise.workspace_bytes);
  const void* bias = nullptr;
  promise.bias = reinterpret_cast<std::uint64_t>(gemm.get(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  *found = std::min(wanted, 3);
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    promise.number = static_cast<std::uint32_t>(i);
    std::memcpy(&results[i].algo, &promise, sizeof promise);
    results[i].workspaceSize = promise.workspace_bytes;
    results[i].state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes, std::size_t* written) {
  Promise promise;
  std::memcpy(static_cast<void*>(&promise), algorithm, sizeof promise);
  const std::uint32_t number = attribute == CUBLASLT_ALGO_CONFIG_ID ? promise.number : 0;
  std::memcpy(value, &number, std::min(bytes, sizeof number));
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void*, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void*, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, std::size_t workspace_bytes, cudaStream_t stream) {
  const auto& gemm = object<Description>(description);
  Promise promise;
  if (algorithm != nullptr) std::memcpy(static_cast<void*>(&promise), algorithm, sizeof promise);
  check_shapes(gemm, object<Matrix>(a_layout), object<Matrix>(b_layout), object<Matrix>(d_layout));
  check_batches(object<Matrix>(a_layout), object<Matrix>(b_layout), object<Matrix>(c_layout),
                object<Matrix>(d_layout));
  check_memory("A", a, object<Matrix>(a_layout), promise.a);
  check_memory("B", b, object<Matrix>(b_layout), promise.b);
  check_memory("C", c, object<Matrix>(c_layout), promise.c);
  check_memory("D", d, object<Matrix>(d_layout), promise.d);
  if (workspace_bytes > 0)
    DeviceMemory::own().require("cublasLtMatmul's workspace", workspace, workspace_bytes, 256);
  if (workspace_bytes < promise.workspace_bytes) fault("less workspace than was promised");
  const auto epilogue = gemm.get<std::uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
  if (is_ragged(object<Matrix>(d_layout)) && (promise.number == 0 || epilogue != CUBLASLT_EPILOGUE_DEFAULT))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (epilogue == CUBLASLT_EPILOGUE_DGELU) {
    check_activation_input(gemm, object<Matrix>(d_layout));
  } else if (epilogue != CUBLASLT_EPILOGUE_DEFAULT) {
    const auto& result = object<Matrix>(d_layout);
    check_vector(gemm, promise, epilogue == CUBLASLT_EPILOGUE_BGRADB ? result.columns : result.rows);
  }
  if (stream == nullptr) Ledger::own().not_in_capture("cublasLtMatmul on the default stream");
  device_use::first_use("cublasLtMatmul of type " + std::to_string(object<Matrix>(a_layout).type));
  Ledger::own().launch("cublasLtMatmul", stream);
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"

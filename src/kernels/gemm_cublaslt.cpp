// Products by cuBLASLt on NVIDIA devices: 16-bit operands on tensor cores, float in full float (never TF32).
#include <cublasLt.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "gemm_engines.hpp"
#include "gemm_epilogue.hpp"
#include "mylos/base/arena.hpp"
#include "mylos/base/error.hpp"

namespace mylos {
namespace {

// NVIDIA's advice for Hopper is 32 MiB; the same for every problem, so that the plan needs no device.
constexpr std::size_t library_workspace_bytes = std::size_t{32} << 20;

void check(cublasStatus_t status, std::string_view what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_run("cuBLASLt could not {}: {}", what, std::string_view(cublasLtGetStatusString(status)));
}

cudaDataType_t data_type(DType type) {
  return type == DType::fp32 ? CUDA_R_32F : type == DType::fp16 ? CUDA_R_16F : CUDA_R_16BF;
}

/// Bias joins the library's own rounding where it has C's type; elsewhere C is float, and it is added
/// afterwards.
bool bias_in_library(const GemmProblem& problem) {
  return problem.bias && problem.bias_type == problem.c;
}

/// The library's descriptors and its choice of algorithm for one problem.
class Product {
 public:
  Product(cublasLtHandle_t handle, const GemmProblem& described) : problem(described) {
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describe a product");
    // The library is column-major: our row-major C[m,n] = op(A)·op(B) is its C[n,m] = op(B)·op(A).
    set(CUBLASLT_MATMUL_DESC_TRANSA, problem.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, problem.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (bias_in_library(problem)) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(problem.bias_type));
    }
    b = layout(problem.b, problem.transpose_b ? problem.k : problem.n,
               problem.transpose_b ? problem.n : problem.k);
    a = layout(problem.a, problem.transpose_a ? problem.m : problem.k,
               problem.transpose_a ? problem.k : problem.m);
    c = layout(problem.c, problem.n, problem.m);
    choose(handle);
  }
  ~Product() {
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(b);
    cublasLtMatrixLayoutDestroy(c);
    cublasLtMatmulDescDestroy(operation);
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;

  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    check(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value), "set an attribute");
  }

  GemmProblem problem;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t a = nullptr;
  cublasLtMatrixLayout_t b = nullptr;
  cublasLtMatrixLayout_t c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};

 private:
  static cublasLtMatrixLayout_t layout(DType type, std::int64_t rows, std::int64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    check(cublasLtMatrixLayoutCreate(&made, data_type(type), static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), rows),
          "describe a matrix");
    return made;
  }

  void choose(cublasLtHandle_t handle) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "make a preference");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &library_workspace_bytes, sizeof library_workspace_bytes),
          "limit the workspace");
    // Reductions across blocks in 16 bits would round sums that have to stay float.
    const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                               &reductions, sizeof reductions),
          "limit the reductions");
    cublasLtMatmulHeuristicResult_t result{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, operation, b, a, c, c, preference, 1, &result, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check(status, "choose an algorithm");
    if (found == 0) {
      fail_run("cuBLASLt has no product {} x {} by {} x {} of {}", problem.m, problem.k, problem.k, problem.n,
               name_of(problem.a));
    }
    algorithm = result.algo;
  }
};

class CublasLtGemm final : public GemmEngine {
 public:
  CublasLtGemm() { check(cublasLtCreate(&handle_), "start"); }
  ~CublasLtGemm() override {
    products_.clear();
    cublasLtDestroy(handle_);
  }
  CublasLtGemm(const CublasLtGemm&) = delete;
  CublasLtGemm& operator=(const CublasLtGemm&) = delete;

  [[nodiscard]] std::string_view name() const override { return "cublaslt"; }

  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem&) const override {
    return library_workspace_bytes;
  }

  void run(const Execution& execution, const GemmProblem& problem, const GemmOperands& operands,
           void* workspace) override {
    void* const c = operands.c;
    Product& chosen = product(problem);
    if (bias_in_library(problem)) chosen.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
    const float alpha = 1.0f;
    const float beta = problem.accumulate ? 1.0f : 0.0f;
    check(cublasLtMatmul(handle_, chosen.operation, &alpha, operands.b, chosen.b, operands.a, chosen.a, &beta,
                         c, chosen.c, c, chosen.c, &chosen.algorithm, workspace, library_workspace_bytes,
                         execution.cuda_stream()),
          "run a product");
    if (problem.bias && !bias_in_library(problem)) {
      add_bias(execution, problem, operands.bias, static_cast<float*>(c));
    } else if (problem.relu) {
      apply_relu(execution, problem, c);
    }
  }

 private:
  static void add_bias(const Execution& execution, const GemmProblem& problem, const void* bias, float* c) {
    GemmProblem rest = problem;
    rest.accumulate = false;  // done by the library
    dispatch(problem.bias_type, [&]<class Bias>(TypeTag<Bias>) {
      apply_epilogue(execution, rest, c, static_cast<const Bias*>(bias), c);
    });
  }

  Product& product(const GemmProblem& problem) {
    const auto found = std::find_if(products_.begin(), products_.end(),
                                    [&](const auto& product) { return product->problem == problem; });
    if (found != products_.end()) return **found;
    check_gemm_problem(problem);
    return *products_.emplace_back(std::make_unique<Product>(handle_, problem));
  }

  cublasLtHandle_t handle_ = nullptr;
  std::vector<std::unique_ptr<Product>> products_;
};

}  // namespace

MakeGemm cublaslt_gemm() {
  return [] { return std::unique_ptr<GemmEngine>(std::make_unique<CublasLtGemm>()); };
}

}  // namespace mylos

// GEMMs by cuBLASLt on NVIDIA devices: 16-bit operands on tensor cores, floats in full precision (never
// TF32).
#include "mylos/device/cuda/engines/cublaslt_gemm.hpp"
#include "mylos/device/cuda/engines/nvidia_engines.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/vendor/blaslt_gemm.hpp"

namespace mylos {
namespace {

struct CublasLt {
  static constexpr std::string_view name = "cublaslt";
  static constexpr std::string_view title = "cuBLASLt";
  static constexpr int max_algorithms = cublaslt::max_algorithms;
  static constexpr std::size_t library_workspace_bytes = cublaslt::library_workspace_bytes;
  using Handle = cublasLtHandle_t;
  using PreparedGemm = cublaslt::PreparedGemm;

  static Handle create() {
    Handle handle = nullptr;
    cublaslt::check(cublasLtCreate(&handle), "start");
    return handle;
  }
  static void destroy(Handle handle) { cublasLtDestroy(handle); }

  static std::size_t workspace_bytes(const GemmProblem& problem) {
    const std::size_t row_sums = blaslt::can_sum_rows(problem) ? blaslt::row_sum_bytes(problem) : 0;
    const std::size_t trial = problem.c == DType::fp32 ? 0 : cublaslt::trial_bytes;
    return library_workspace_bytes + std::max(row_sums, trial);
  }
  static void* new_sums(void* workspace) { return cublaslt::new_sums(workspace); }
  static bool can_multiply_by_gelu(const GemmProblem& problem) {
    return cublaslt::can_multiply_by_gelu(problem);
  }
  static std::vector<std::string> algorithm_names(Handle handle, const GemmProblem& problem) {
    return cublaslt::algorithm_names(handle, problem);
  }
};

}  // namespace

MakeEngines cublaslt_engines() {
  return [](EngineUse use, AttentionSums sums) {
    std::unique_ptr<GemmEngine> gemm =
        use == EngineUse::measured
            ? blaslt::measured_gemm<CublasLt>({RowSums::separate, RowSums::in_epilogue})
            : std::make_unique<blaslt::BlasLtGemm<CublasLt>>();
    return std::make_unique<EngineSet>(std::move(gemm), cudnn_attention(sums), cudnn_convolution());
  };
}

}  // namespace mylos

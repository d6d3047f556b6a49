// GEMMs by hipBLASLt on AMD devices: 16-bit operands on matrix cores, floats in full precision.
#include "mylos/device/hip/engines/hipblaslt_gemm.hpp"
#include "mylos/kernels/attention/fused_attention.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/vendor/blaslt_gemm.hpp"
#include "mylos/kernels/vendor/device_engines.hpp"

namespace mylos {
namespace {

struct HipblasLt {
  static constexpr std::string_view name = "hipblaslt";
  static constexpr std::string_view title = "hipBLASLt";
  static constexpr int max_algorithms = hipblaslt::max_algorithms;
  static constexpr std::size_t library_workspace_bytes = hipblaslt::library_workspace_bytes;
  using Handle = hipblasLtHandle_t;
  using PreparedGemm = hipblaslt::PreparedGemm;

  static Handle create() {
    Handle handle = nullptr;
    hipblaslt::check(hipblasLtCreate(&handle), "start");
    return handle;
  }
  static void destroy(Handle handle) { static_cast<void>(hipblasLtDestroy(handle)); }

  static std::size_t workspace_bytes(const GemmProblem& problem) {
    return library_workspace_bytes + hipblaslt::trial_bytes +
           (blaslt::can_sum_rows(problem) ? blaslt::row_sum_bytes(problem) : 0);
  }
  static void* new_sums(void* workspace) { return hipblaslt::new_sums(workspace); }
  static bool can_multiply_by_gelu(const GemmProblem& problem) {
    return hipblaslt::can_multiply_by_gelu(problem);
  }
  static std::vector<std::string> algorithm_names(Handle handle, const GemmProblem& problem) {
    return hipblaslt::algorithm_names(handle, problem);
  }
};

}  // namespace

DeviceEngines device_engines() {
  return {.name = "hipblaslt",
          .make =
              [](EngineUse use, AttentionSums /*sums*/) {
                std::unique_ptr<GemmEngine> gemm = use == EngineUse::measured
                                                       ? blaslt::measured_gemm<HipblasLt>({RowSums::separate})
                                                       : std::make_unique<blaslt::BlasLtGemm<HipblasLt>>();
                return std::make_unique<EngineSet>(std::move(gemm));
              },
          .describe_attention = [] { return std::string("none; GEMMs compute attention"); }};
}

std::unique_ptr<FusedAttention> device_attention(AttentionSums /*sums*/) {
  return nullptr;
}

}  // namespace mylos

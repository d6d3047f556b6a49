#include "mylos/device/cuda/engines/cublaslt_algorithm.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"

namespace mylos {
namespace {

struct Attribute {
  cublasLtMatmulAlgoConfigAttributes_t name;
  std::size_t bytes;
};

constexpr Attribute attributes[] = {
    {CUBLASLT_ALGO_CONFIG_ID, 4},
    {CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
};

}  // namespace

std::string name_of_algorithm(const cublasLtMatmulAlgo_t& algorithm) {
  std::string name = fmt::format("cublaslt/{}", cublasLtGetVersion());
  char separator = '/';
  for (const Attribute& attribute : attributes) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute.name, &value, attribute.bytes, &written);
    if (status != CUBLAS_STATUS_SUCCESS) {
      fail_run(errors::library_failed, "cuBLASLt cannot report how an algorithm is configured: {}",
               std::string_view(cublasLtGetStatusString(status)));
    }
    name += fmt::format("{}{}", separator, value);
    separator = '.';
  }
  return name;
}

}  // namespace mylos

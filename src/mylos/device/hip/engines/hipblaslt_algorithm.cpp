#include "mylos/device/hip/engines/hipblaslt_algorithm.hpp"

#include <fmt/format.h>
#include <hipblaslt/hipblaslt-ext.hpp>

#include "mylos/device/hip/engines/hipblaslt_descriptors.hpp"

namespace mylos {

std::string name_of_algorithm(hipblasLtHandle_t handle, const hipblasLtMatmulAlgo_t& algorithm) {
  int version = 0;
  hipblaslt::check(hipblasLtGetVersion(handle, &version), "report its version");
  hipblasLtMatmulAlgo_t copy = algorithm;  // the library's function takes no constant
  return fmt::format("hipblaslt/{}/{}", version, hipblaslt_ext::getIndexFromAlgo(copy));
}

}  // namespace mylos

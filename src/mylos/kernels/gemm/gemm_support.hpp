// Whether this machine multiplies a type natively or converts it to float first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"

namespace mylos {

struct GemmSupport {
  /// True with instructions or device units for the type. Empty if the machine cannot be queried.
  std::optional<bool> native;
  /// The engines that kernels.gemm = "auto" selects for the GEMMs of a square layer. Empty if this is a
  /// device build and there is no device.
  std::vector<std::string> engines;
};

/// Returns the support for `type` (fp32, bf16 or fp16) with the instructions in use. On hosts Kokkos must be
/// initialised. The call fixes oneDNN's limit.
[[nodiscard]] GemmSupport gemm_support(DType type);

}  // namespace mylos

// Whether this machine multiplies the numbers of a type as they are, or makes floats of them first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"

namespace mylos {

struct ProductSupport {
  /// By instructions for the type, or units of the device. Nothing where the machine cannot be asked.
  std::optional<bool> native;
  /// Those that a deck's kernels.gemm = "auto" takes for the products of a square layer; none where this
  /// build is for devices and none is here.
  std::vector<std::string> engines;
};

/// `type`: fp32, bf16 or fp16. By the instructions in use. On hosts Kokkos must be up, and oneDNN's limit
/// stands from here on.
[[nodiscard]] ProductSupport product_support(DType type);

}  // namespace mylos

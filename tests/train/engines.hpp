// Which engines this build has.
#pragma once

#include <algorithm>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos::testing_support {

/// The engine that allocates nothing when it runs (oneDNN 2.6 does); hosts alone have it.
inline bool has_tiles() {
  const auto names = gemm_engine_names();
  return std::find(names.begin(), names.end(), "tiles") != names.end();
}

}  // namespace mylos::testing_support

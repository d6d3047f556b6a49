// The plans of cuDNN for a device that is not present, for tests.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

/// A device in cuDNN's serialised form (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
struct CudnnDevice {
  std::int32_t compute_capability = 0;  // 90 is 9.0
  std::string properties;               // JSON; empty for the present device
};

struct CudnnPlan {
  std::string name;  // the library's name: its engine and its settings
  std::int64_t workspace_bytes = 0;
  std::string refusal;  // set if there is no plan
};

}  // namespace mylos

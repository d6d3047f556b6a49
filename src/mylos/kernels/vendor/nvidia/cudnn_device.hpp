// What cuDNN would do on a device that is not here; for tests.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

/// A device as cuDNN writes it down (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
struct CudnnDevice {
  std::int32_t compute_capability = 0;  // 90 is 9.0
  std::string properties;               // JSON; empty of the device that is here
};

struct CudnnPlan {
  std::string name;  // the library's: its engine and what it set
  std::int64_t workspace_bytes = 0;
  std::string refusal;  // in place of a plan
};

}  // namespace mylos

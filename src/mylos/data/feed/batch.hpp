// Batch: samples ready for the network, in host memory (page-locked if there is a device).
#pragma once

#include <cstdint>

#include "mylos/base/dtype.hpp"

namespace mylos {

struct Batch {
  DType type = DType::fp32;
  const void* inputs = nullptr;          // [samples, features] of `type`, normalised; or tokens [rows]
  const std::int32_t* labels = nullptr;  // [rows]; classes, or the next tokens
  const float* targets = nullptr;        // [samples, outputs], normalised; regression
  std::int64_t samples = 0;
  std::int64_t rows = 0;          // samples, or samples * context if a sample is a window of tokens
  std::int64_t first_sample = 0;  // index of its first sample in the global batch (evaluation: in the split)
  std::int64_t step = 0;          // the step it belongs to (evaluation: 0)
};

}  // namespace mylos

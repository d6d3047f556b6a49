// What a block keeps beside its weights, as buffers.hpp stores it.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/base/dtype.hpp"

namespace mylos {

enum class BufferRole {
  state,    // floats; moved by steps, in checkpoints
  sum,      // doubles; added to by each micro-batch of a step
  scratch,  // from a micro-batch's forward to its backward pass
};

/// A vector of a block.
struct BufferSpec {
  std::string name;  // "running_mean"
  std::int64_t size = 0;
  DType type = DType::fp32;
  BufferRole role = BufferRole::state;
  float initial_value = 0;
};

}  // namespace mylos

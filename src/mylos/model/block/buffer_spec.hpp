// The buffers of a block besides its weights (stored by buffers.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "mylos/base/dtype.hpp"

namespace mylos {

enum class BufferRole {
  state,    // floats; updated by each step, in checkpoints
  sum,      // doubles; each micro-batch of a step adds to them
  scratch,  // live from forward to backward of one micro-batch
};

/// A vector that a block stores.
struct BufferSpec {
  std::string name;  // "running_mean"
  std::int64_t size = 0;
  DType type = DType::fp32;
  BufferRole role = BufferRole::state;
  float initial_value = 0;
};

}  // namespace mylos

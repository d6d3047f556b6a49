// The buffers of a block besides its weights (stored by buffers.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mylos/base/dtype.hpp"

namespace mylos {

enum class BufferRole {
  state,     // floats; updated by each step, in checkpoints
  sum,       // doubles; each micro-batch of a step adds to them
  scratch,   // live from forward to backward of one micro-batch
  constant,  // set once and never changed; blocks share those of the same name; not in checkpoints
};

/// A vector that a block stores.
struct BufferSpec {
  std::string name;  // "running_mean"; that of a constant determines its values
  std::int64_t size = 0;
  DType type = DType::fp32;
  BufferRole role = BufferRole::state;
  float initial_value = 0;
  /// Of a constant: writes its numbers from index `first` on, which are then rounded to `type`.
  std::function<void(std::int64_t first, std::span<float> numbers)> values = {};
};

}  // namespace mylos

// BatchSource: where a step gets its micro-batches from.
#pragma once

#include <cstdint>

#include "mylos/model/network/model.hpp"

namespace mylos {

/// Device memory that stays valid until the source is asked for the next one.
struct MicroBatch {
  Tensor inputs;  // [samples, features] in the chain's input type; without samples nothing is computed
  Truth truth;
  std::uint64_t first_sample = 0;  // index in the global batch of its first sample
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Throws Error when the data cannot be read.
  virtual MicroBatch next(const Execution& exec) = 0;
};

}  // namespace mylos

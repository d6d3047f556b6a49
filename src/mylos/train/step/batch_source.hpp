// BatchSource: the interface from which a step takes its micro-batches.
#pragma once

#include "mylos/model/network/micro_batch.hpp"

namespace mylos {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Throws Error when the data cannot be read.
  virtual MicroBatch next(const Execution& exec) = 0;
};

}  // namespace mylos

// BatchSource: the interface from which a step takes its micro-batches.
#pragma once

#include "mylos/model/network/micro_batch.hpp"

namespace mylos {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  /// Throws Error when the data cannot be read.
  virtual MicroBatch next(const Execution& exec) = 0;
  /// Returns the number of buffers that batches use in rotation, if all ranks' sources return the plan's
  /// micro-batches of each step, each rank's with the same extents in every step. Otherwise 0.
  [[nodiscard]] virtual std::int64_t buffers() const { return 0; }
  /// next() returns its batch in this buffer, and later batches in the following ones.
  virtual void use_buffer(std::int64_t /*buffer*/) {}
};

}  // namespace mylos

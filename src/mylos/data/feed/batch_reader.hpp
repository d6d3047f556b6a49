// BatchReader: the micro-batches of this rank, whatever they are made of.
#pragma once

#include <cstdint>

#include "mylos/base/execution.hpp"
#include "mylos/data/feed/batch.hpp"

namespace mylos {

class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// Waits for the next micro-batch: those of step 0 in order of their first_sample, then those of step 1 ...
  /// It stays valid until the second call after this one. Throws Error for what is wrong in the data.
  [[nodiscard]] virtual const Batch& next() = 0;
  /// The batch that next() gave last also stays valid until `copies` is through what it was given so far,
  /// which copies it to a device: whoever fills its memory again waits for that, not the caller.
  virtual void keep_until_read(const Execution& copies) = 0;
  /// Goes on at `position` samples consumed, a multiple of the batch.
  virtual void seek(std::int64_t position) = 0;
};

}  // namespace mylos

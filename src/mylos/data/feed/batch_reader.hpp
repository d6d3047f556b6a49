// BatchReader: the micro-batches of this rank, for every kind of data.
#pragma once

#include <cstdint>

#include "mylos/base/execution_fwd.hpp"
#include "mylos/data/feed/batch.hpp"

namespace mylos {

class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// Waits for the next micro-batch and returns it: those of step 0 in order of their first_sample, then
  /// those of step 1 ... It stays valid until the second call after this one. Throws Error if the data are
  /// wrong.
  [[nodiscard]] virtual const Batch& next() = 0;
  /// Keeps the batch that next() returned last valid until the work enqueued so far on `copies`, which copies
  /// it to a device, has completed. The thread that refills its memory waits for this, not the caller.
  virtual void keep_until_read(const Execution& copies) = 0;
  /// Continues after `position` consumed samples, a multiple of the batch.
  virtual void seek(std::int64_t position) = 0;
};

}  // namespace mylos

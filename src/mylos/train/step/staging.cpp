#include "mylos/train/step/staging.hpp"

#include <utility>

#include "mylos/base/execution.hpp"

namespace mylos {

StagedBatches::StagedBatches(std::unique_ptr<BatchReader> reader, const Chain& chain, std::int64_t samples)
    : reader_(std::move(reader)),
      copies_(std::make_shared<Execution>(make_instance())),
      places_{Place{.staging = {training_rows_of(chain), samples}},
              Place{.staging = {training_rows_of(chain), samples}}} {}

std::size_t StagedBatches::memory_bytes(const Chain& chain, std::int64_t samples) {
  return 2 * Staging::memory_bytes(training_rows_of(chain), samples);
}

MicroBatch StagedBatches::next(const Execution& exec) {
  Place& now = places_[next_];
  places_[last_].used.record(exec);
  const Batch& batch = reader_->next();
  now.used.hold_back(*copies_);
  const MicroBatch staged = now.staging.stage(*copies_, batch);
  reader_->keep_until_read(*copies_);
  now.copied.record(*copies_);
  now.copied.hold_back(exec);
  last_ = std::exchange(next_, 1 - next_);
  return staged;
}

void StagedBatches::seek(std::int64_t position) {
  reader_->seek(position);
}

}  // namespace mylos

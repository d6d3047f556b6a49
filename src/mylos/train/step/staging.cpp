#include "mylos/train/step/staging.hpp"

#include <utility>

#include "mylos/base/execution.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/data/feed/batch_ring.hpp"

namespace mylos {
namespace {

/// Returns the bytes of a reader's buffers, for a run that has no data file yet.
std::int64_t buffer_bytes(const NetworkPlan& network) {
  const BatchRows rows = training_rows_of(network.chain);
  const std::int64_t row = rows.inputs * static_cast<std::int64_t>(size_of(rows.type)) +
                           rows.truth * static_cast<std::int64_t>(sizeof(float));
  return static_cast<std::int64_t>(BatchRing::size) * network.step.micro_batch *
         network.chain.rows_per_sample * row;
}

}  // namespace

TrainingReader training_reader(const NetworkPlan& network, int rank, std::int64_t token_bytes) {
  const Mesh mesh = network.mesh_of(rank);
  return {.type = network.chain.input_type(),
          .micro_batch = network.options.data.micro_batch,
          .rank = mesh.batch_rank(),
          .ranks = mesh.batch_ranks(),
          .part = mesh.part(),
          .token_bytes = token_bytes};
}

StagedBatches::StagedBatches(std::unique_ptr<BatchReader> reader, const Chain& chain, std::int64_t samples)
    : reader_(std::move(reader)),
      copies_(std::make_shared<Execution>(make_instance())),
      slots_{Slot{.staging = {training_rows_of(chain), samples}},
             Slot{.staging = {training_rows_of(chain), samples}}} {}

PartMemory StagedBatches::memory(const NetworkPlan& network, const TrainingData* data,
                                 std::int64_t token_bytes) {
  const std::int64_t read =
      data == nullptr ? buffer_bytes(network) : data->reader_bytes(training_reader(network, 0, token_bytes));
  const std::size_t staged =
      2 * Staging::memory_bytes(training_rows_of(network.chain), network.step.micro_batch);
  return {{"training data", static_cast<std::size_t>(read), false}, {"staged batches", staged}};
}

MicroBatch StagedBatches::next(const Execution& exec) {
  Slot& now = slots_[next_];
  slots_[last_].used.record(exec);
  const Batch& batch = reader_->next();
  now.used.make_wait(*copies_);
  const MicroBatch staged = now.staging.stage(*copies_, batch);
  reader_->keep_until_read(*copies_);
  now.copied.record(*copies_);
  now.copied.make_wait(exec);
  last_ = std::exchange(next_, 1 - next_);
  return staged;
}

void StagedBatches::seek(std::int64_t position) {
  reader_->seek(position);
}

}  // namespace mylos

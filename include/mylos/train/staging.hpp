// Staging: batches of the host brought to where the network reads them.
#pragma once

#include <memory>

#include "mylos/base/arena.hpp"
#include "mylos/data/batch.hpp"
#include "mylos/data/batch_reader.hpp"
#include "mylos/train/batch_source.hpp"

namespace mylos {

/// Device memory for one batch. On host-only builds the network reads the host's batch itself, and nothing is
/// allocated.
class Staging {
 public:
  /// For batches of at most `samples` samples of what `chain` reads.
  Staging(const Chain& chain, std::int64_t samples);

  /// Valid until the next call. Waits for the copy: the host's buffer may be filled again.
  [[nodiscard]] MicroBatch stage(const Execution& exec, const Batch& batch) const;
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }
  /// What it takes.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, std::int64_t samples);

 private:
  std::int64_t features_;  // of a row
  std::int64_t outputs_;
  std::size_t answers_ = 0;  // offset
  Arena arena_;
};

/// The training batches of this rank.
class StagedBatches final : public BatchSource {
 public:
  StagedBatches(std::unique_ptr<BatchReader> reader, Staging staging)
      : reader_(std::move(reader)), staging_(std::move(staging)) {}
  MicroBatch next(const Execution& exec) override { return staging_.stage(exec, reader_->next()); }
  /// As BatchReader's.
  void seek(std::int64_t position) { reader_->seek(position); }

 private:
  std::unique_ptr<BatchReader> reader_;
  Staging staging_;
};

}  // namespace mylos

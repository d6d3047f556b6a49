// Staging: brings a batch of the host to the memory that the network reads.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/network/micro_batch.hpp"

namespace mylos {

/// The rows of a batch.
struct BatchRows {
  std::int64_t inputs = 0;  // columns
  DType type = DType::fp32;
  std::int64_t truth = 0;       // columns of the targets, or one label
  std::int64_t per_sample = 1;  // tokens
};

/// Returns the rows that the chain reads.
[[nodiscard]] BatchRows rows_of(const Chain& chain);
/// Returns those of training, which may hold several steps.
[[nodiscard]] BatchRows training_rows_of(const Chain& chain);

/// Device memory for one batch. In host-only builds the network reads the batch itself, and nothing is
/// allocated.
class Staging {
 public:
  /// For batches of at most `samples` samples.
  Staging(const BatchRows& rows, std::int64_t samples);
  Staging(const Chain& chain, std::int64_t samples) : Staging(rows_of(chain), samples) {}

  /// Returns the batch in device memory, valid until the next call. On a device the copy is enqueued on
  /// `exec`.
  [[nodiscard]] MicroBatch stage(const Execution& exec, const Batch& batch) const;
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }
  /// Returns the bytes that such an object allocates.
  [[nodiscard]] static std::size_t memory_bytes(const BatchRows& rows, std::int64_t samples);
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, std::int64_t samples) {
    return memory_bytes(rows_of(chain), samples);
  }

 private:
  std::int64_t features_;  // of a row
  std::int64_t outputs_;
  std::size_t truth_ = 0;  // offset
  Arena arena_;
};

}  // namespace mylos

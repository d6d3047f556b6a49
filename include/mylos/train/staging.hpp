// Staging: batches of the host brought to where the network reads them.
#pragma once

#include "mylos/base/arena.hpp"
#include "mylos/data/batch.hpp"
#include "mylos/data/loader.hpp"
#include "mylos/train/batch_source.hpp"

namespace mylos {

/// Device memory for one batch. On host-only builds the network reads the host's batch itself, and nothing is
/// allocated.
class Staging {
 public:
  Staging(std::int64_t samples, std::int64_t features, std::int64_t outputs, DType type);

  /// Valid until the next call. Waits for the copy: the host's buffer may be filled again.
  [[nodiscard]] MicroBatch stage(const Execution& exec, const Batch& batch) const;
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }

 private:
  std::int64_t features_;
  std::int64_t outputs_;
  std::size_t answers_ = 0;  // offset
  Arena arena_;
};

/// The training batches of this rank.
class LoaderBatches final : public BatchSource {
 public:
  LoaderBatches(Loader& loader, Staging staging) : loader_(loader), staging_(std::move(staging)) {}
  MicroBatch next(const Execution& exec) override { return staging_.stage(exec, loader_.next()); }

 private:
  Loader& loader_;
  Staging staging_;
};

}  // namespace mylos

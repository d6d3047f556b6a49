// Staging: batches of the host brought to where the network reads them.
#pragma once

#include <array>
#include <memory>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/device_event.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/train/step/batch_source.hpp"

namespace mylos {

/// Device memory for one batch. On host-only builds the network reads the host's batch itself, and nothing is
/// allocated.
class Staging {
 public:
  /// For batches of at most `samples` samples of what `chain` reads.
  Staging(const Chain& chain, std::int64_t samples);

  /// Valid until the next call. On a device the copy is under way: `exec` runs it.
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

/// The training batches of this rank. On a device they take turns in two places: while the network reads one,
/// the next is copied to the other. The host waits for data that is not read yet, never for the device.
class StagedBatches final : public BatchSource {
 public:
  StagedBatches(std::unique_ptr<BatchReader> reader, const Chain& chain, std::int64_t samples);
  /// The network's work on the batch before must have been given to `exec`.
  MicroBatch next(const Execution& exec) override;
  /// As BatchReader's.
  void seek(std::int64_t position);
  /// What the places take.
  [[nodiscard]] static std::size_t memory_bytes(const Chain& chain, std::int64_t samples);

 private:
  struct Place {
    Staging staging;
    DeviceEvent copied{};
    DeviceEvent used{};  // by the network
  };

  std::unique_ptr<BatchReader> reader_;
  Execution copies_ = make_instance();
  std::array<Place, 2> places_;
  std::size_t next_ = 0;  // place
};

}  // namespace mylos

// StagedBatches: the training batches of this rank, brought to the memory that the network reads.
#pragma once

#include <array>
#include <memory>

#include "mylos/base/device/device_event.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/run/training_data.hpp"
#include "mylos/inference/staging.hpp"
#include "mylos/train/step/batch_source.hpp"
#include "mylos/train/step/network_plan.hpp"

namespace mylos {

/// Returns how a rank of a run reads its training batches, from the first on. `token_bytes`: what it may hold
/// of tokens.
[[nodiscard]] TrainingReader training_reader(const NetworkPlan& network, int rank, std::int64_t token_bytes);

/// On a device there is memory for two batches: while the network reads one, the next is copied to the other.
/// The host waits for data that is not read yet, never for the device.
class StagedBatches final : public BatchSource {
 public:
  StagedBatches(std::unique_ptr<BatchReader> reader, const Chain& chain, std::int64_t samples);
  /// The network's work on the previous batch must have been enqueued on `exec`.
  MicroBatch next(const Execution& exec) override;
  [[nodiscard]] std::int64_t buffers() const override { return static_cast<std::int64_t>(slots_.size()); }
  void use_buffer(std::int64_t buffer) override { next_ = static_cast<std::size_t>(buffer); }
  /// As BatchReader's.
  void seek(std::int64_t position);
  /// Returns the memory of such an object and of its reader, on the rank with the most samples. `data` may be
  /// null. `token_bytes`: as in training_reader().
  [[nodiscard]] static PartMemory memory(const NetworkPlan& network, const TrainingData* data,
                                         std::int64_t token_bytes);

 private:
  struct Slot {
    Staging staging;
    DeviceEvent copied{};
    DeviceEvent used{};  // by the network
  };

  std::unique_ptr<BatchReader> reader_;
  std::shared_ptr<const Execution> copies_;
  std::array<Slot, 2> slots_;
  std::size_t next_ = 0;  // slot
  std::size_t last_ = 1;  // slot of the batch that next() returned last
};

}  // namespace mylos

// TrainingData: the samples that a run trains on, as batches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/files/normalizer.hpp"

namespace mylos {

/// The options of a reader of training batches: the rank that reads, and its start position.
struct TrainingReader {
  DType type = DType::fp32;      // of inputs; tokens are int32
  std::int64_t micro_batch = 0;  // maximum samples per batch; 0 = the rank's complete local batch
  int rank = 0;
  int ranks = 1;
  int ranks_on_node = 1;
  std::int64_t first_position = 0;  // samples already consumed
};

class TrainingData {
 public:
  virtual ~TrainingData() = default;

  [[nodiscard]] virtual Epochs epochs() const = 0;
  /// Computes the normalizer from the statistics of the training samples, without held-out ones. `note`
  /// receives a message about columns that are constant in them. `given`: scalings that it takes instead.
  [[nodiscard]] virtual Normalizer normalizer(const std::function<void(const std::string&)>& /*note*/,
                                              const GivenScalings& /*given*/ = {}) const {
    return {};
  }
  /// Returns a normalizer of the same size: a restart reads its values from the checkpoint.
  [[nodiscard]] virtual Normalizer room_for_normalizer() const { return {}; }
  /// Returns a reader that this object must outlive.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> training_batches(const Normalizer& normalizer,
                                                                      const TrainingReader& reader) const = 0;
  /// Returns the host memory of such a reader in bytes.
  [[nodiscard]] virtual std::int64_t reader_bytes(const TrainingReader& reader) const = 0;
};

}  // namespace mylos

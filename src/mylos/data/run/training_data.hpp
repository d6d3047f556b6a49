// TrainingData: the samples that a run trains on, as batches.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "mylos/base/grid_part.hpp"
#include "mylos/data/feed/batch_reader.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

/// The options of a reader of training batches: the rank that reads, and its start position. Ranks that hold
/// boxes of the same samples have the same `rank`.
struct TrainingReader {
  DType type = DType::fp32;      // of inputs; tokens are int32
  std::int64_t micro_batch = 0;  // maximum samples per batch; 0 = the rank's complete local batch
  int rank = 0;
  int ranks = 1;
  GridPart part = {};               // of each sample
  std::int64_t first_position = 0;  // samples already consumed
  /// Tokens that take more are not held in memory; their windows are read from the file.
  std::int64_t token_bytes = std::numeric_limits<std::int64_t>::max();
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
  /// Returns the bytes of one, at most.
  [[nodiscard]] virtual std::int64_t normalizer_bytes() const { return 0; }
  /// Returns a reader that this object must outlive. `normalizer`: of complete samples. Throws Error
  /// (bad_input) if the samples cannot be divided into boxes.
  [[nodiscard]] virtual std::unique_ptr<BatchReader> training_batches(const Normalizer& normalizer,
                                                                      const TrainingReader& reader) const = 0;
  /// Returns the host memory of such a reader in bytes.
  [[nodiscard]] virtual std::int64_t reader_bytes(const TrainingReader& reader) const = 0;
  /// Returns how many bytes less it takes with data.shuffle = "blocks"; 0 where the deck has that, or its
  /// data are not shuffled so.
  [[nodiscard]] virtual std::int64_t saved_by_blocks(const TrainingReader& /*reader*/) const { return 0; }
};

}  // namespace mylos

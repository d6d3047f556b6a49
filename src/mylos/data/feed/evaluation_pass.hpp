// EvaluationPass: one pass over samples in the file's order, each rank over a contiguous part of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mylos/base/dtype.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {

struct EvaluationOptions {
  DType type = DType::fp32;        // of Batch::inputs; tokens are int32
  std::int64_t max_samples = 256;  // of a batch
  int rank = 0;
  int ranks = 1;
  bool whole_batches =
      false;  // the same batches on any number of ranks: only the last one may have fewer samples
  bool counts_outside = false;  // inputs beyond those that the network was trained on

  /// Of `total` samples, this rank's.
  [[nodiscard]] Share share(std::int64_t total) const {
    if (!whole_batches) return share_of(total, rank, ranks);
    const Share batches = share_of((total + max_samples - 1) / max_samples, rank, ranks);
    const std::int64_t first = std::min(total, batches.first * max_samples);
    return {first, std::min(total, (batches.first + batches.count) * max_samples) - first};
  }
};

/// Inputs beyond the range of those that the network was trained on (InputRange).
struct OutsideRange {
  std::int64_t values = 0;
  std::int64_t samples = 0;  // that have such
  std::int64_t first_sample = 0;
  std::int64_t first_column = 0;
  float first_value = 0;

  /// Of another part of the samples.
  void add(const OutsideRange& other) {
    if (other.samples > 0 && (samples == 0 || other.first_sample < first_sample)) {
      first_sample = other.first_sample;
      first_column = other.first_column;
      first_value = other.first_value;
    }
    values += other.values;
    samples += other.samples;
  }
};

class EvaluationPass {
 public:
  virtual ~EvaluationPass() = default;
  /// The part of the samples that this rank reads; ranks may have none.
  [[nodiscard]] virtual Share share() const = 0;
  /// The next batch, valid until the next call; nullptr after the last. Throws Error for what is wrong in the
  /// data.
  [[nodiscard]] virtual const Batch* next() = 0;
  /// Starts the pass again.
  virtual void rewind() = 0;
  /// Of the batches since then, where options ask for it; columns as the network has them.
  [[nodiscard]] virtual OutsideRange outside_range() const { return {}; }
};

}  // namespace mylos

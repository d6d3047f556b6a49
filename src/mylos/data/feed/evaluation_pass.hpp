// EvaluationPass: one pass over samples in file order; each rank reads a contiguous part of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "mylos/base/dtype.hpp"
#include "mylos/base/grid_part.hpp"
#include "mylos/data/feed/batch.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {

struct EvaluationOptions {
  DType type = DType::fp32;        // of Batch::inputs; tokens are int32
  std::int64_t max_samples = 256;  // per batch
  int rank = 0;
  int ranks = 1;
  GridPart part = {};        // of each sample; ranks that hold boxes of the same have the same `rank`
  bool whole_truth = false;  // labels or targets are of the sample, not of its part
  /// The same batches for every number of ranks: only the last batch may have fewer samples.
  bool whole_batches = false;
  bool counts_outside = false;     // counts inputs outside the range of the training data
  bool keeps_missing = false;      // inputs that are missing are NaN, and not 0
  std::optional<Share> only = {};  // these samples alone; nothing: all

  /// Returns this rank's part of `total` samples.
  [[nodiscard]] Share share(std::int64_t total) const {
    if (only) {
      EvaluationOptions all = *this;
      all.only.reset();
      const Share own = all.share(only->count);
      return {only->first + own.first, own.count};
    }
    if (!whole_batches) return share_of(total, rank, ranks);
    const Share batches = share_of((total + max_samples - 1) / max_samples, rank, ranks);
    const std::int64_t first = std::min(total, batches.first * max_samples);
    return {first, std::min(total, (batches.first + batches.count) * max_samples) - first};
  }
};

/// Inputs outside the range of the training samples' inputs (InputRange).
struct OutsideRange {
  std::int64_t values = 0;
  std::int64_t samples = 0;  // samples with such inputs
  std::int64_t first_sample = 0;
  std::int64_t first_column = 0;
  float first_value = 0;

  /// Adds the counts of another part of the samples.
  void add(const OutsideRange& other) {
    const bool is_before = other.first_sample < first_sample ||
                           (other.first_sample == first_sample && other.first_column < first_column);
    if (other.samples > 0 && (samples == 0 || is_before)) {
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
  /// Returns the part of the samples that this rank reads; it may be empty.
  [[nodiscard]] virtual Share share() const = 0;
  /// Returns the part of each sample that the pass reads, and the number of such parts.
  [[nodiscard]] virtual GridPart part() const { return {}; }
  [[nodiscard]] std::int64_t boxes() const { return part().count(); }
  /// Returns whether ranks that read parts of a sample have the same truth of it, and the same outputs: a
  /// vector.
  [[nodiscard]] virtual bool shares_truth() const { return false; }
  /// Returns whether this rank's outputs count in sums over ranks: those of a vector once for each sample.
  [[nodiscard]] bool counts() const { return !shares_truth() || part().at == GridPart().at; }
  /// Returns the next batch, valid until the next call; nullptr after the last. Throws Error if the data are
  /// wrong.
  [[nodiscard]] virtual const Batch* next() = 0;
  /// Starts the pass again.
  virtual void rewind() = 0;
  /// Returns the counts since the last rewind, if the options ask for them; columns in the network's order.
  [[nodiscard]] virtual OutsideRange outside_range() const { return {}; }
  /// Returns the samples with such inputs where the pass reads boxes: other ranks count them too.
  [[nodiscard]] virtual std::span<const std::int64_t> outside_samples() const { return {}; }
};

}  // namespace mylos

// EvaluationPass: one pass over samples in the file's order, each rank over a contiguous part of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mylos/base/dtype.hpp"
#include "mylos/data/batch.hpp"
#include "mylos/data/share.hpp"

namespace mylos {

struct EvaluationOptions {
  DType type = DType::fp32;         // of Batch::inputs; tokens are int32
  std::int64_t most_samples = 256;  // of a batch
  int rank = 0;
  int ranks = 1;
  bool whole_batches =
      false;  // the same batches on any number of ranks: only the last one may have fewer samples

  /// Of `total` samples, this rank's.
  [[nodiscard]] Share share(std::int64_t total) const {
    if (!whole_batches) return share_of(total, rank, ranks);
    const Share batches = share_of((total + most_samples - 1) / most_samples, rank, ranks);
    const std::int64_t first = std::min(total, batches.first * most_samples);
    return {first, std::min(total, (batches.first + batches.count) * most_samples) - first};
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
};

}  // namespace mylos

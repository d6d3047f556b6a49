// EvaluationPass: one pass over samples in the file's order, each rank over a contiguous part of them.
#pragma once

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

// EvaluationReader: one pass over samples in the file's order, each rank over a contiguous part of them.
#pragma once

#include <cstdint>
#include <memory>

#include "mylos/base/dtype.hpp"
#include "mylos/data/batch.hpp"
#include "mylos/data/dataset.hpp"
#include "mylos/data/normalizer.hpp"
#include "mylos/data/share.hpp"

namespace mylos {

struct EvaluationOptions {
  DType type = DType::fp32;
  std::int64_t most_samples = 256;  // of a batch
  int rank = 0;
  int ranks = 1;
};

class EvaluationReader {
 public:
  EvaluationReader(const Dataset& dataset, Split split, const Normalizer& normalizer,
                   const EvaluationOptions& options);
  ~EvaluationReader();

  /// The part of the split that this rank reads; ranks may have none.
  [[nodiscard]] Share share() const;
  /// The next batch, valid until the next call; nullptr after the last. Throws as Loader::next does.
  [[nodiscard]] const Batch* next();
  /// Starts the pass again.
  void rewind();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos

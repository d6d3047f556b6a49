// UncertainPass: a pass over samples in which several members predict each of them: the networks of an
// ensemble, or one network with several dropout masks. It passes on the mean of the members and their
// standard deviation.
//
// Of a regression all numbers are normalised, as training scaled the targets. Of classes a member's
// prediction is its probabilities. Sums over members are in double, in the order of the members. The batches
// are the same for every number of ranks, and so are the bits of the results.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mylos/data/feed/evaluation_pass.hpp"

namespace mylos {

/// The predictions for some samples, in host memory.
struct UncertainBatch {
  Share samples;                 // of the part of the data; count 0: this rank has no samples in this round
  std::vector<float> mean;       // [samples, predictions]
  std::vector<float> deviation;  // likewise, standard deviations; empty: a single member has none
  std::vector<float> targets;    // likewise, of a regression; empty: the data have none
  std::vector<std::int32_t> labels;  // [samples]; likewise of classes
};

/// Receives each batch once. All ranks call it in the same number of rounds, and may exchange data in it; a
/// rank that has fewer batches than others receives empty ones.
using ConsumeUncertain = std::function<void(UncertainBatch& batch)>;
/// Receives the predictions of each member for each batch, in the same way. May change `values`.
using ConsumeMember =
    std::function<void(std::int64_t member, const Share& samples, std::vector<float>& values)>;

class UncertainPass {
 public:
  virtual ~UncertainPass() = default;

  /// Returns the number of predictions that are averaged.
  [[nodiscard]] virtual std::int64_t members() const = 0;
  /// Returns the number of predictions of a member for a sample.
  [[nodiscard]] virtual std::int64_t width() const = 0;
  /// Returns whether batches have a standard deviation.
  [[nodiscard]] virtual bool has_deviation() const = 0;
  /// All ranks. Throws Error on all ranks.
  virtual void run(const ConsumeUncertain& consume, const ConsumeMember& consume_member = {}) = 0;
  /// Returns what run() read outside the range of the training samples' inputs on this rank.
  [[nodiscard]] virtual OutsideRange outside_range() const = 0;
};

}  // namespace mylos

// BatchMean: how the gradients of a step become those of the mean over its batch, wherever it is divided.
//
// The seed of every backward pass divides by the rows of the largest micro-batch: by those of the batch, each
// rank that is added would shrink what 16 bits have to hold. The sum over micro-batches and ranks is then
// divided by (batch / largest micro-batch), once and in float: where a bucket's gradients are floats, and
// travel as such, by the check and the update; else by the reduction, before its one rounding. What is
// divided by the rows that were planned, the update corrects for those that the ranks agreed to have put in.
#pragma once

#include <cstdint>

#include "mylos/base/dtype.hpp"

namespace mylos {

/// Where the gradients of a bucket are divided.
struct BucketDivision {
  float into_wire = 1;  // factor of the copy into the wire
  float of_sum = 1;     // factor of the sum over ranks
  float left = 1;       // divisor that is left to check and update
};

class BatchMean {
 public:
  /// Of `batch` samples on `ranks` ranks; `micro_batch`: samples of the largest micro-batch of any rank.
  BatchMean(std::int64_t batch, std::int64_t micro_batch, std::int64_t rows_per_sample, int ranks);

  /// By which a micro-batch multiplies the sum of its rows' losses.
  [[nodiscard]] float seed_factor() const { return seed_factor_; }
  /// Of a bucket that holds `gradients` and travels as `wire`.
  [[nodiscard]] BucketDivision division(DType gradients, DType wire) const;
  /// By how many rows a gradient is divided in all.
  [[nodiscard]] double planned_rows() const { return planned_rows_; }

 private:
  float seed_factor_;
  float divisor_;
  double planned_rows_;
  bool is_reduced_;
};

}  // namespace mylos

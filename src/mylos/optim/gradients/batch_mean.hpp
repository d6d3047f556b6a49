// BatchMean: the factors that turn the gradients of a step into those of the mean over its batch.
//
// The seed of every backward pass divides by the rows of the largest micro-batch. (Dividing by the rows of
// the batch would shrink 16-bit gradients with every added rank.) The sum over micro-batches and ranks is
// then divided by (batch / largest micro-batch), once and in float: by the check and the update if a bucket's
// gradients are computed and exchanged as floats, otherwise by the reduction before its one rounding. These
// divisions use the planned number of rows; the update corrects for the number of rows that the ranks agreed
// on.
#pragma once

#include <cstdint>

#include "mylos/base/dtype.hpp"

namespace mylos {

/// The division of a bucket's gradients.
struct BucketDivision {
  float into_wire = 1;  // factor of the conversion to the wire type
  float of_sum = 1;     // factor of the sum over ranks
  float left = 1;       // divisor left to check and update
};

class BatchMean {
 public:
  /// `batch`: samples on all `ranks` ranks. `micro_batch`: samples of the largest micro-batch of any rank.
  /// `boxes`: those of a sample on a rank by which sums are taken (GridPart::sums). Gradients have the scale
  /// that they have where each of them is a sample of a rank of its own.
  BatchMean(std::int64_t batch, std::int64_t micro_batch, std::int64_t rows_per_sample, int ranks,
            std::int64_t boxes = 1);

  /// Returns the factor of a micro-batch's sum of losses.
  [[nodiscard]] float seed_factor() const { return seed_factor_; }
  /// Returns the division of a bucket whose gradients have the type `gradients` and are exchanged as `wire`.
  [[nodiscard]] BucketDivision division(DType gradients, DType wire) const;
  /// Returns the total number of rows by which gradients are divided.
  [[nodiscard]] double planned_rows() const { return planned_rows_; }

 private:
  float seed_factor_;
  float divisor_;
  double planned_rows_;
  bool is_reduced_;
};

}  // namespace mylos

// Blocks of rows that are summed column by column, in each of several segments of a matrix. A segment is a
// sample or the complete batch.
#pragma once

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// The rows of each segment in blocks, of which the last may be shorter. Depends only on the numbers of rows.
class PointBlocks {
 public:
  /// rows: per segment.
  PointBlocks(std::int64_t segments, std::int64_t rows, std::int64_t rows_of_block)
      : segments_(segments),
        rows_(rows),
        rows_of_block_(rows_of_block),
        blocks_(launch::ceiling_quotient(rows, rows_of_block)),
        segment_of_(blocks_) {
    if (segments * blocks_ > Divisor::max)
      fail_run(errors::too_large, "{} samples of {} points are too many for one kernel", segments, rows);
  }

  static constexpr std::int64_t min_rows = 64;
  static constexpr std::int64_t max_blocks = runs_on_host ? 256 : 4096;

  /// Returns blocks for sums, at most max_blocks per segment.
  [[nodiscard]] static PointBlocks to_sum(std::int64_t segments, std::int64_t rows) {
    return {segments, rows, std::max(min_rows, launch::ceiling_quotient(rows, max_blocks))};
  }
  /// Returns blocks for pointwise kernels, in which a thread reuses what it has read for its columns.
  [[nodiscard]] static PointBlocks to_map(std::int64_t segments, std::int64_t rows) {
    return {segments, rows, runs_on_host ? 32 : 4};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t of_segment() const { return blocks_; }
  /// Returns the number of blocks of all segments.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t count() const { return segments_ * blocks_; }

  struct Block {
    std::int64_t segment;
    std::int64_t first_row;  // counted over all segments
    std::int64_t rows;
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Block block(std::int64_t index) const {
    const std::int64_t segment = segment_of_.quotient(index);
    const std::int64_t within = index - segment * blocks_;
    return {segment, segment * rows_ + within * rows_of_block_, rows_of(within)};
  }
  /// Returns the rows of block `within` of a segment.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t rows_of(std::int64_t within) const {
    return launch::smaller(rows_of_block_, rows_ - within * rows_of_block_);
  }

 private:
  std::int64_t segments_;
  std::int64_t rows_;
  std::int64_t rows_of_block_;
  std::int64_t blocks_;
  Divisor segment_of_;
};

}  // namespace mylos

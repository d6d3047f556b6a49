// The rows and lanes in which normalisations read the points of grids, and the channel and statistic of each
// lane.
//
// If there are few channels, several neighbouring points form one row with a multiple of the lanes, so that
// complete vectors are filled.
#pragma once

#include <algorithm>

#include "mylos/kernels/grid/point_blocks.hpp"

namespace mylos::point_norm {

struct Shape {
  /// `points`: of a sample. A segment consists of one or several samples.
  Shape(std::int64_t segment_count, std::int64_t samples, std::int64_t points, std::int64_t channel_count,
        std::int64_t group_count)
      : segments(segment_count), channels(channel_count), groups(group_count) {
    constexpr std::int64_t wanted_lanes = 64;
    while (runs_on_host && 2 * fold * channels <= wanted_lanes && points % (2 * fold) == 0) fold *= 2;
    rows = samples * points / fold;
  }

  std::int64_t segments;
  std::int64_t channels;
  std::int64_t groups;
  std::int64_t fold = 1;  // points in a row
  std::int64_t rows = 0;  // of a segment

  [[nodiscard]] std::int64_t lanes() const { return fold * channels; }
  [[nodiscard]] std::int64_t group_channels() const { return channels / groups; }
  [[nodiscard]] std::int64_t statistics() const { return segments * groups; }
  [[nodiscard]] PointBlocks blocks() const { return PointBlocks::to_sum(segments, rows); }
  /// Returns the floats of the two sums of every block's lanes.
  [[nodiscard]] std::int64_t block_floats() const { return blocks().count() * 2 * lanes(); }
  /// Returns an upper bound for this number of samples and fewer: a few more rows may mean fewer blocks.
  [[nodiscard]] std::int64_t max_block_floats() const {
    const std::int64_t bounded_rows = std::min(rows, PointBlocks::min_rows * PointBlocks::max_blocks);
    return PointBlocks::to_sum(segments, bounded_rows).count() * 2 * lanes();
  }
  [[nodiscard]] std::int64_t points() const { return rows * fold; }  // of a segment
};

/// Maps a lane to its channel and its statistic.
class LaneOf {
 public:
  explicit LaneOf(const Shape& shape)
      : channels_(shape.channels),
        groups_(shape.groups),
        of_channels_(shape.channels),
        of_group_(shape.group_channels()) {}
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t channel(std::int64_t lane) const {
    return lane - of_channels_.quotient(lane) * channels_;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t statistic(std::int64_t segment,
                                                                   std::int64_t channel) const {
    return segment * groups_ + of_group_.quotient(channel);
  }

 private:
  std::int64_t channels_;
  std::int64_t groups_;
  Divisor of_channels_;
  Divisor of_group_;
};

/// The block sums that contribute to a statistic: of each block, the group's channels at each of its points.
class TermsOf {
 public:
  explicit TermsOf(const Shape& shape)
      : blocks_(shape.blocks()),
        lanes_(shape.lanes()),
        channels_(shape.channels),
        group_channels_(shape.group_channels()),
        groups_(shape.groups),
        of_block_(shape.fold * shape.group_channels()),
        per_block_(shape.fold * shape.group_channels()),
        per_point_(shape.group_channels()),
        per_segment_(shape.groups) {}
  [[nodiscard]] std::int64_t count() const { return blocks_.of_segment() * of_block_; }

  struct Term {
    std::int64_t at;       // in the blocks' sums; the second sum is `lanes` later
    std::int64_t channel;  // among all channels
    std::int64_t rows;     // of its block
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Term operator()(std::int64_t statistic, std::int64_t term) const {
    const std::int64_t segment = per_segment_.quotient(statistic);
    const std::int64_t block = per_block_.quotient(term);
    const std::int64_t within = term - block * of_block_;
    const std::int64_t point = per_point_.quotient(within);
    const std::int64_t channel =
        (statistic - segment * groups_) * group_channels_ + within - point * group_channels_;
    return {(segment * blocks_.of_segment() + block) * 2 * lanes_ + point * channels_ + channel, channel,
            blocks_.rows_of(block)};
  }

 private:
  PointBlocks blocks_;
  std::int64_t lanes_;
  std::int64_t channels_;
  std::int64_t group_channels_;
  std::int64_t groups_;
  std::int64_t of_block_;
  Divisor per_block_;
  Divisor per_point_;
  Divisor per_segment_;
};

}  // namespace mylos::point_norm

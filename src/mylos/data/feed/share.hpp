// Share: which part of a batch a rank takes, and how it is cut into micro-batches.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mylos/base/error.hpp"

namespace mylos {

/// Items [first, first + count) of some whole.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Ranks take contiguous parts of ceil(total / ranks) or floor(total / ranks) items, the larger ones first.
[[nodiscard]] constexpr Share share_of(std::int64_t total, int rank, int ranks) {
  const std::int64_t least = total / ranks;
  const std::int64_t larger = total % ranks;
  return {rank * least + std::min<std::int64_t>(rank, larger), least + (rank < larger ? 1 : 0)};
}

/// A rank's part of a batch. Throws unless every rank gets a sample.
[[nodiscard]] inline Share batch_share(std::int64_t batch, int rank, int ranks) {
  if (batch < ranks)
    fail_input(
        "data.batch = {} is less than the {} ranks, of which each needs a sample: start at most {}, or raise "
        "it",
        batch, ranks, batch);
  return share_of(batch, rank, ranks);
}

/// Samples of the largest micro-batch of a share of `count` samples; `micro_batch` = 0: the whole share.
[[nodiscard]] constexpr std::int64_t micro_batch_samples(std::int64_t count, std::int64_t micro_batch) {
  return micro_batch == 0 ? count : std::min(count, micro_batch);
}

[[nodiscard]] constexpr std::int64_t micro_batch_count(std::int64_t count, std::int64_t micro_batch) {
  const std::int64_t samples = micro_batch_samples(count, micro_batch);
  return samples == 0 ? 0 : (count + samples - 1) / samples;
}

}  // namespace mylos

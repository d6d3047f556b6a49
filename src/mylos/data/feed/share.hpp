// Share: the part of a batch that a rank processes, and its division into micro-batches.
#pragma once

#include <algorithm>
#include <cstdint>

namespace mylos {

/// Items [first, first + count) of a sequence.
struct Share {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Returns the contiguous part of a rank: ceil(total / ranks) or floor(total / ranks) items; the larger parts
/// come first.
[[nodiscard]] constexpr Share share_of(std::int64_t total, int rank, int ranks) {
  const std::int64_t least = total / ranks;
  const std::int64_t larger = total % ranks;
  return {rank * least + std::min<std::int64_t>(rank, larger), least + (rank < larger ? 1 : 0)};
}

/// Returns a rank's local batch. Throws unless every rank gets a sample.
[[nodiscard]] Share batch_share(std::int64_t batch, int rank, int ranks);

/// Returns the samples of the largest micro-batch of a local batch of `count` samples; `micro_batch` = 0: all
/// of it.
[[nodiscard]] constexpr std::int64_t micro_batch_samples(std::int64_t count, std::int64_t micro_batch) {
  return micro_batch == 0 ? count : std::min(count, micro_batch);
}

[[nodiscard]] constexpr std::int64_t micro_batch_count(std::int64_t count, std::int64_t micro_batch) {
  const std::int64_t samples = micro_batch_samples(count, micro_batch);
  return samples == 0 ? 0 : (count + samples - 1) / samples;
}

}  // namespace mylos

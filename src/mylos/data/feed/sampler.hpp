// Sampler: the order of a run's samples, as a pure function of the seed.
//
// A position counts the samples consumed since the start of the run, over all ranks: sample j of step s is at
// position s * batch + j. The order does not depend on ranks or threads, is the same after a restart, and is
// computed on demand.
//
// shuffle = "samples": each epoch is one random permutation of all samples. shuffle = "blocks": the file is
// divided into blocks of adjacent samples. Each epoch takes the blocks in random order and shuffles the
// samples within windows of some tens of blocks, so that only a window has to be in memory.
//
// last_batch = "drop": an epoch is the largest number of complete batches; the rest of its permutation is not
// used in that epoch. "join": an epoch is all samples; its last batch is filled from the next epoch.
#pragma once

#include <cstdint>
#include <span>

#include "mylos/base/numbers/random.hpp"
#include "mylos/data/feed/epochs.hpp"
#include "mylos/data/options.hpp"

namespace mylos {

struct SamplerOptions {
  std::int64_t samples = 0;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
  Shuffle shuffle = Shuffle::samples;
  LastBatch last_batch = LastBatch::drop;
  std::int64_t block_samples = 1024;  // shuffle = "blocks"
  std::int64_t window_blocks = 64;
};

/// Returns the samples per block of about 1 MiB, which makes reading blocks in random order as fast as
/// reading the file sequentially.
[[nodiscard]] std::int64_t samples_per_block(std::int64_t sample_bytes);

class Sampler {
 public:
  /// Throws Error (bad_input) if a batch has more samples than the data.
  explicit Sampler(const SamplerOptions& options);

  [[nodiscard]] const SamplerOptions& options() const { return options_; }
  [[nodiscard]] Epochs epochs() const { return {epoch_length_, options_.batch}; }

  /// Writes the samples at [position, position + indices.size()), each in [0, samples).
  void indices_at(std::int64_t position, std::span<std::int64_t> indices) const;

  /// Positions [first, end) whose samples all lie in the same few blocks (shuffle = "samples": the epoch).
  struct Window {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] Window window_at(std::int64_t position) const;
  /// Returns the maximum number of positions of a window.
  [[nodiscard]] std::int64_t window_samples() const;

 private:
  class EpochOrder;
  SamplerOptions options_;
  RandomStream stream_;
  std::int64_t epoch_length_;
};

}  // namespace mylos

// Sampler: the order in which a run sees its samples, as a pure function of the seed.
//
// A position counts the samples consumed since the run began, over all ranks: sample j of step s is at
// position s * batch + j. The order knows neither ranks nor threads, is the same after a restart, and is
// computed where it is asked for.
//
// shuffle = "samples": each epoch is one random permutation of all samples. shuffle = "blocks": the file is
// cut into blocks of neighbouring samples; each epoch takes the blocks in random order and shuffles the
// samples within windows of some tens of blocks, so that a window is all that has to be in memory.
//
// last_batch = "drop": an epoch is as many whole batches as the samples fill, the rest of its permutation is
// not seen in that epoch. "join": an epoch is all samples; the batch at its end is filled from the next
// epoch.
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

/// Samples per block so that a block is about 1 MiB: large enough that reading blocks in random order is as
/// fast as reading the file from front to back.
[[nodiscard]] std::int64_t samples_per_block(std::int64_t sample_bytes);

class Sampler {
 public:
  /// Throws Error (bad_input) when a batch is larger than the samples.
  explicit Sampler(const SamplerOptions& options);

  [[nodiscard]] const SamplerOptions& options() const { return options_; }
  [[nodiscard]] Epochs epochs() const { return {epoch_length_, options_.batch}; }
  /// Positions that one epoch takes.
  [[nodiscard]] std::int64_t epoch_length() const { return epoch_length_; }
  [[nodiscard]] std::int64_t epoch_of(std::int64_t position) const { return epochs().of(position); }
  /// Steps after which `count` epochs are complete.
  [[nodiscard]] std::int64_t steps_for(std::int64_t count) const { return epochs().steps_for(count); }

  /// The sample at `position`, in [0, samples).
  [[nodiscard]] std::int64_t index_at(std::int64_t position) const;
  /// The samples at [position, position + indices.size()).
  void indices_at(std::int64_t position, std::span<std::int64_t> indices) const;

  /// Positions [first, end) around `position` whose samples all come from the same few blocks (shuffle =
  /// "samples": the epoch).
  struct Window {
    std::int64_t first = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] Window window_at(std::int64_t position) const;
  /// The most positions that a window has.
  [[nodiscard]] std::int64_t window_samples() const;

 private:
  class EpochOrder;
  SamplerOptions options_;
  RandomStream stream_;
  std::int64_t epoch_length_;
};

}  // namespace mylos

#include "mylos/data/feed/sampler.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/data/feed/permutation.hpp"

namespace mylos {
namespace {

/// Returns the key of permutation `which` of an epoch: 0 orders samples or blocks, 1 + w the samples of
/// window w.
std::uint64_t permutation_key(const RandomStream& stream, std::int64_t epoch, std::int64_t which) {
  const RandomBlock random =
      stream.block(static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(which), 0);
  return std::uint64_t{random.word[0]} << 32 | random.word[1];
}

std::uint64_t wide(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

/// The order of one epoch. In block mode the slots are the blocks in random order. The last block of the file
/// may be short; the samples after its slot then start earlier by the missing number.
class Sampler::EpochOrder {
 public:
  EpochOrder(const SamplerOptions& options, const RandomStream& stream, std::int64_t epoch)
      : options_(options),
        stream_(stream),
        epoch_(epoch),
        block_(options.shuffle == Shuffle::blocks ? options.block_samples : 1),
        slots_((options.samples + block_ - 1) / block_),
        outer_(wide(slots_), permutation_key(stream, epoch, 0)),
        missing_(slots_ * block_ - options.samples),
        short_slot_(missing_ == 0 ? slots_ : static_cast<std::int64_t>(outer_.inverse(wide(slots_ - 1)))) {}

  [[nodiscard]] std::int64_t index(std::int64_t offset) {
    if (options_.shuffle == Shuffle::samples) return static_cast<std::int64_t>(outer_(wide(offset)));
    const std::int64_t window = slot_at(offset) / options_.window_blocks;
    if (window != window_) enter(window);
    const std::int64_t shuffled =
        window_first_ + static_cast<std::int64_t>(inner_(wide(offset - window_first_)));
    const std::int64_t slot = slot_at(shuffled);
    return static_cast<std::int64_t>(outer_(wide(slot))) * block_ + (shuffled - slot_first(slot));
  }

  /// Returns offsets [first, end) of the window that contains `offset`.
  [[nodiscard]] Window window(std::int64_t offset) const {
    if (options_.shuffle == Shuffle::samples) return {0, options_.samples};
    const std::int64_t first = slot_at(offset) / options_.window_blocks * options_.window_blocks;
    return {slot_first(first), slot_first(std::min(first + options_.window_blocks, slots_))};
  }

 private:
  /// Returns the offset of the first sample of a slot.
  [[nodiscard]] std::int64_t slot_first(std::int64_t slot) const {
    return slot * block_ - (slot > short_slot_ ? missing_ : 0);
  }
  [[nodiscard]] std::int64_t slot_at(std::int64_t offset) const {
    const bool after_short = offset >= (short_slot_ + 1) * block_ - missing_;
    return (offset + (after_short ? missing_ : 0)) / block_;
  }
  void enter(std::int64_t window) {
    window_ = window;
    window_first_ = slot_first(window * options_.window_blocks);
    const std::int64_t end = slot_first(std::min((window + 1) * options_.window_blocks, slots_));
    inner_ = Permutation(wide(end - window_first_), permutation_key(stream_, epoch_, 1 + window));
  }

  const SamplerOptions& options_;
  const RandomStream& stream_;
  std::int64_t epoch_;
  std::int64_t block_;
  std::int64_t slots_;
  Permutation outer_;
  std::int64_t missing_;     // samples that the last block lacks
  std::int64_t short_slot_;  // the slot of that block; slots_ if it is complete
  std::int64_t window_ = -1;
  std::int64_t window_first_ = 0;
  Permutation inner_{1, 0};
};

std::int64_t samples_per_block(std::int64_t sample_bytes) {
  return std::max<std::int64_t>(1, (std::int64_t{1} << 20) / sample_bytes);
}

Sampler::Sampler(const SamplerOptions& options)
    : options_(options), stream_(options.seed, RandomPurpose::shuffle, "samples") {
  if (options.batch < 1) fail_input(errors::bad_value, "data.batch = {}, expected at least 1", options.batch);
  if (options.batch > options.samples) {
    fail_input(errors::too_little_data, "data.batch = {} is more than the {} training samples; lower it",
               options.batch, options.samples);
  }
  if (options.block_samples < 1 || options.window_blocks < 1) {
    fail_run(errors::internal, "blocks of {} samples in windows of {} blocks, expected at least 1",
             options.block_samples, options.window_blocks);
  }
  epoch_length_ = options.last_batch == LastBatch::drop ? options.samples / options.batch * options.batch
                                                        : options.samples;
}

void Sampler::indices_at(std::int64_t position, std::span<std::int64_t> indices) const {
  for (std::size_t i = 0; i < indices.size();) {
    EpochOrder order(options_, stream_, epochs().of(position));
    for (std::int64_t offset = position % epoch_length_; offset < epoch_length_ && i < indices.size();
         ++offset, ++position, ++i) {
      indices[i] = order.index(offset);
    }
  }
}

Sampler::Window Sampler::window_at(std::int64_t position) const {
  const std::int64_t epoch = epochs().of(position);
  const Window offsets = EpochOrder(options_, stream_, epoch).window(position % epoch_length_);
  return {epoch * epoch_length_ + offsets.first,
          epoch * epoch_length_ + std::min(offsets.end, epoch_length_)};
}

std::int64_t Sampler::window_samples() const {
  if (options_.shuffle == Shuffle::samples) return epoch_length_;
  return std::min(epoch_length_, options_.block_samples * options_.window_blocks);
}

}  // namespace mylos

#include "mylos/data/feed/loader.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/feed/augmentation.hpp"
#include "mylos/data/feed/batch_buffer.hpp"
#include "mylos/data/feed/batch_ring.hpp"
#include "mylos/data/feed/sample_source.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {

class Loader::Maker final : public BatchMaker {
 public:
  Maker(const SampleStore& store, Split split, const Sampler& sampler, const Normalizer& normalizer,
        const LoaderOptions& options)
      : store_(store),
        normalizer_(normalizer),
        share_(batch_share(sampler.options().batch, options.rank, options.ranks)),
        micro_batch_(micro_batch_samples(share_.count, options.micro_batch)),
        source_(make_source(split, sampler)),
        buffers_{make_buffer(options), make_buffer(options), make_buffer(options), make_buffer(options)},
        ring_(*this, sampler.options().batch) {
    if (options.augment.any()) {
      augmentation_.emplace(options.augment, store.shape(), options.grid, sampler.options().seed);
    }
    ring_.start(options.first_position);
  }

  BatchRing& ring() { return ring_; }

  void seek_step(std::int64_t step) override {
    step_ = step;
    within_share_ = 0;
    source_->seek(step);
  }

  Batch make(std::size_t buffer) override {
    const std::int64_t samples = std::min(micro_batch_, share_.count - within_share_);
    for (std::int64_t row = 0; row < samples; ++row) {
      buffers_[buffer].put(row, next_sample(share_.first + within_share_ + row), store_, normalizer_);
    }
    const Batch batch = buffers_[buffer].batch(samples, share_.first + within_share_, step_);
    within_share_ += samples;
    if (within_share_ == share_.count) {
      within_share_ = 0;
      ++step_;
    }
    return batch;
  }

  bool work_ahead() override { return source_->work_ahead(); }

 private:
  /// Returns the next sample; `index_in_batch` counts in the global batch.
  Sample next_sample(std::int64_t index_in_batch) {
    Sample sample = source_->next();
    if (!augmentation_) return sample;
    const auto moved = augmentation_->moved({sample.input, sample.truth}, step_, index_in_batch);
    return {moved.input, moved.truth, sample.index, &*augmentation_};
  }

  std::unique_ptr<SampleSource> make_source(Split split, const Sampler& sampler) {
    if (sampler.options().samples != split.count) {
      fail_run(errors::internal, "{}: the sampler orders {} samples, the split has {}", store_.path(),
               sampler.options().samples, split.count);
    }
    if (sampler.options().shuffle == Shuffle::blocks) {
      return samples_by_windows(store_, split, sampler, share_);
    }
    return samples_in_memory(store_, split, sampler, share_);
  }

  BatchBuffer make_buffer(const LoaderOptions& options) const {
    return BatchBuffer(store_.shape(), options.type, micro_batch_);
  }

  const SampleStore& store_;
  Normalizer normalizer_;
  Share share_;
  std::int64_t micro_batch_;
  std::unique_ptr<SampleSource> source_;
  std::array<BatchBuffer, BatchRing::size> buffers_;

  std::optional<Augmentation> augmentation_;

  // Of the next batch.
  std::int64_t step_ = 0;
  std::int64_t within_share_ = 0;

  BatchRing ring_;  // last: its thread uses the rest
};

Loader::Loader(const SampleStore& store, Split split, const Sampler& sampler, const Normalizer& normalizer,
               const LoaderOptions& options)
    : maker_(std::make_unique<Maker>(store, split, sampler, normalizer, options)) {}

Loader::~Loader() = default;

const Batch& Loader::next() {
  return maker_->ring().next();
}

void Loader::keep_until_read(const Execution& copies) {
  maker_->ring().keep_until_read(copies);
}

void Loader::seek(std::int64_t position) {
  maker_->ring().start(position);
}

std::int64_t Loader::memory_bytes(const DatasetShape& shape, Split split, const Sampler& sampler,
                                  const LoaderOptions& options) {
  const Share share = batch_share(sampler.options().batch, options.rank, options.ranks);
  const std::int64_t samples = micro_batch_samples(share.count, options.micro_batch);
  const std::int64_t source = sampler.options().shuffle == Shuffle::samples
                                  ? memory_of_samples(shape, split)
                                  : memory_of_windows(shape, sampler, share);
  const std::int64_t moving = options.augment.any() ? Augmentation::memory_bytes(shape, options.grid) : 0;
  return source + moving +
         static_cast<std::int64_t>(BatchRing::size) * BatchBuffer::memory_bytes(shape, options.type, samples);
}

}  // namespace mylos

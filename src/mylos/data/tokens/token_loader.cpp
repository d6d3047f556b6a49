#include "mylos/data/tokens/token_loader.hpp"

#include <algorithm>
#include <array>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/data/feed/batch_ring.hpp"
#include "mylos/data/feed/share.hpp"
#include "mylos/data/tokens/token_buffer.hpp"
#include "mylos/data/tokens/token_store.hpp"

namespace mylos {

class TokenLoader::Maker final : public BatchMaker {
 public:
  Maker(const TokenDataset& dataset, Split split, const TokenSampler& sampler,
        const TokenLoaderOptions& options)
      : sampler_(sampler),
        context_(sampler.options().context),
        share_(batch_share(sampler.options().batch, options.rank, options.ranks)),
        micro_batch_(micro_batch_samples(share_.count, options.micro_batch)),
        store_(dataset, split, options.in_memory, context_ + 1),
        buffers_{make_buffer(), make_buffer(), make_buffer(), make_buffer()},
        ring_(*this, sampler.options().batch) {
    if (sampler.options().tokens != split.count) {
      fail_run(errors::internal, "{}: the sampler chooses from {} tokens, the split has {}", dataset.path(),
               sampler.options().tokens, split.count);
    }
    ring_.start(options.first_position);
  }

  BatchRing& ring() { return ring_; }

  void seek_step(std::int64_t step) override {
    step_ = step;
    within_share_ = 0;
  }

  Batch make(std::size_t buffer) override {
    const std::int64_t samples = std::min(micro_batch_, share_.count - within_share_);
    const std::int64_t first_sample = share_.first + within_share_;
    for (std::int64_t row = 0; row < samples; ++row) {
      const std::int64_t position = step_ * sampler_.options().batch + first_sample + row;
      const std::int64_t first = sampler_.first_token(position);
      buffers_[buffer].put(row, store_.tokens(first, context_ + 1), store_.split().first + first,
                           store_.dataset());
    }
    const Batch batch = buffers_[buffer].batch(samples, first_sample, step_);
    within_share_ += samples;
    if (within_share_ == share_.count) seek_step(step_ + 1);
    return batch;
  }

  bool work_ahead() override { return false; }

 private:
  [[nodiscard]] TokenBuffer make_buffer() const { return {context_, micro_batch_}; }

  TokenSampler sampler_;
  std::int64_t context_;
  Share share_;
  std::int64_t micro_batch_;
  TokenStore store_;
  std::array<TokenBuffer, BatchRing::size> buffers_;

  // Of the next batch.
  std::int64_t step_ = 0;
  std::int64_t within_share_ = 0;

  BatchRing ring_;  // last: its thread uses the rest
};

TokenLoader::TokenLoader(const TokenDataset& dataset, Split split, const TokenSampler& sampler,
                         const TokenLoaderOptions& options)
    : maker_(std::make_unique<Maker>(dataset, split, sampler, options)) {}

TokenLoader::~TokenLoader() = default;

const Batch& TokenLoader::next() {
  return maker_->ring().next();
}

void TokenLoader::keep_until_read(const Execution& copies) {
  maker_->ring().keep_until_read(copies);
}

void TokenLoader::seek(std::int64_t position) {
  maker_->ring().start(position);
}

std::int64_t TokenLoader::memory_bytes(const TokenDataset& dataset, Split split, const TokenSampler& sampler,
                                       const TokenLoaderOptions& options) {
  const std::int64_t context = sampler.options().context;
  const Share share = batch_share(sampler.options().batch, options.rank, options.ranks);
  const std::int64_t samples = micro_batch_samples(share.count, options.micro_batch);
  return TokenStore::memory_bytes(dataset, split, options.in_memory, context + 1) +
         static_cast<std::int64_t>(BatchRing::size) * TokenBuffer::memory_bytes(context, samples);
}

}  // namespace mylos

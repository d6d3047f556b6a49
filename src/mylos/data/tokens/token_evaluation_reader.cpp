#include "mylos/data/tokens/token_evaluation_reader.hpp"

#include <algorithm>

#include "mylos/data/tokens/token_buffer.hpp"
#include "mylos/data/tokens/token_store.hpp"

namespace mylos {

struct TokenEvaluationReader::State {
  std::int64_t context;
  Share share;
  std::int64_t capacity;
  TokenStore store;
  TokenBuffer buffer;
  std::int64_t position = 0;  // windows of the share that have been read
  Batch batch;

  State(const TokenDataset& dataset, Split split, std::int64_t length, const EvaluationOptions& options)
      : context(length),
        share(options.share(windows_in(split.count, length))),
        capacity(std::min(share.count, options.max_samples)),
        store(dataset, split, false, capacity * length + 1),
        buffer(length, capacity) {}
};

TokenEvaluationReader::TokenEvaluationReader(const TokenDataset& dataset, Split split, std::int64_t context,
                                             const EvaluationOptions& options) {
  require_window(dataset, split, context, "evaluation");
  state_ = std::make_unique<State>(dataset, split, context, options);
}

TokenEvaluationReader::~TokenEvaluationReader() = default;

Share TokenEvaluationReader::share() const {
  return state_->share;
}

const Batch* TokenEvaluationReader::next() {
  State& state = *state_;
  const std::int64_t count = std::min(state.capacity, state.share.count - state.position);
  if (count == 0) return nullptr;
  const TokenDataset& dataset = state.store.dataset();
  const std::int64_t first_sample = state.share.first + state.position;
  const std::int64_t first = first_sample * state.context;
  const std::byte* tokens = state.store.tokens(first, count * state.context + 1);
  for (std::int64_t i = 0; i < count; ++i) {
    state.buffer.put(i, tokens + i * state.context * token_bytes(dataset.type()),
                     state.store.split().first + first + i * state.context, dataset);
  }
  state.position += count;
  state.batch = state.buffer.batch(count, first_sample, 0);
  return &state.batch;
}

void TokenEvaluationReader::rewind() {
  state_->position = 0;
}

std::int64_t TokenEvaluationReader::memory_bytes(const TokenDataset& dataset, Split split,
                                                 std::int64_t context, const EvaluationOptions& options) {
  const Share share = options.share(windows_in(split.count, context));
  const std::int64_t samples = std::min(share.count, options.max_samples);
  return TokenStore::memory_bytes(dataset, split, false, samples * context + 1) +
         TokenBuffer::memory_bytes(context, samples);
}

}  // namespace mylos

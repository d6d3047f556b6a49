#include "mylos/data/tokens/token_sampler.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/data/tokens/token_dataset.hpp"

namespace mylos {
namespace {

/// Returns a number in [0, size) from 64 random bits: the upper half of their product with `size` (Lemire,
/// "Fast random integer generation in an interval", 2019). Probabilities differ by at most size / 2^64.
std::int64_t below(std::uint64_t random, std::int64_t size) {
  using Wide = unsigned __int128;
  return static_cast<std::int64_t>(Wide{random} * static_cast<std::uint64_t>(size) >> 64);
}

}  // namespace

TokenSampler::TokenSampler(const TokenSamplerOptions& options)
    : options_(options), stream_(options.seed, RandomPurpose::shuffle, "windows") {
  if (options.batch < 1) fail_input(errors::bad_value, "data.batch = {}, expected at least 1", options.batch);
  if (options.context < 1)
    fail_input(errors::bad_value, "model.context = {}, expected at least 1", options.context);
  windows_ = windows_in(options.tokens, options.context);
  if (windows_ == 0) {
    fail_input(errors::too_little_data,
               "model.context = {} is too long for {} training tokens, expected at most {}", options.context,
               options.tokens, options.tokens - 1);
  }
  if (options.batch > windows_) {
    fail_input(errors::too_little_data,
               "data.batch = {} is more than the {} windows of {} tokens in {} training tokens",
               options.batch, windows_, options.context, options.tokens);
  }
}

std::int64_t TokenSampler::first_token(std::int64_t position) const {
  if (options_.window == WindowOrder::sequential) return position % windows_ * options_.context;
  const auto number = static_cast<std::uint64_t>(position);
  const RandomBlock random = stream_.block(number >> 32, number & 0xffffffffu, 0);
  return below(std::uint64_t{random.word[0]} << 32 | random.word[1], options_.tokens - options_.context);
}

}  // namespace mylos

#include "mylos/inference/token_draw.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/numbers/random_words.hpp"

namespace mylos {
namespace {

/// Returns a number in [0, 1) with 53 random bits: 24 bits are too coarse for rare tokens of a large
/// vocabulary.
double uniform(const RandomStream& random, std::uint64_t index) {
  const RandomBlock block = random.block(index, 0, 0);
  return ((block.word[0] >> 5) * 0x1p26 + (block.word[1] >> 6)) * 0x1p-53;
}

}  // namespace

TokenDraw::TokenDraw(const DrawOptions& options)
    : options_(options), random_(options.seed, RandomPurpose::sampling, "tokens") {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    fail_input(errors::bad_argument, "temperature is {}, expected 0 (always the likeliest token) or more",
               options.temperature);
  }
  if (options.top_k < 0)
    fail_input(errors::bad_argument, "top-k is {}, expected 0 (all tokens) or more", options.top_k);
}

void TokenDraw::choose_candidates(std::span<const float> logits) {
  candidates_.resize(logits.size());
  std::iota(candidates_.begin(), candidates_.end(), 0);
  const auto wanted = static_cast<std::size_t>(options_.top_k);
  if (wanted == 0 || wanted >= logits.size()) return;
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float first = logits[static_cast<std::size_t>(a)];
    const float second = logits[static_cast<std::size_t>(b)];
    return first > second || (first == second && a < b);
  };
  const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(wanted);
  std::nth_element(candidates_.begin(), end, candidates_.end(), likelier);
  candidates_.erase(end, candidates_.end());
  std::sort(candidates_.begin(), candidates_.end());
}

std::int32_t TokenDraw::operator()(std::span<const float> logits, std::uint64_t index) {
  for (std::size_t token = 0; token < logits.size(); ++token) {
    if (!std::isfinite(logits[token]))
      fail_run(errors::not_finite, "the logit of token {} is {}", token, logits[token]);
  }
  const auto largest = std::max_element(logits.begin(), logits.end());
  if (options_.temperature == 0) return static_cast<std::int32_t>(largest - logits.begin());
  choose_candidates(logits);
  sums_.clear();
  double sum = 0;
  for (const std::int32_t token : candidates_) {
    const double below = static_cast<double>(logits[static_cast<std::size_t>(token)]) - *largest;
    sums_.push_back(sum += std::exp(below / options_.temperature));
  }
  // Finds the first sum above the drawn fraction. Rounding may make it equal to the total, so the search
  // ends at the last sum.
  const auto found = std::upper_bound(sums_.begin(), sums_.end() - 1, uniform(random_, index) * sum);
  return candidates_[static_cast<std::size_t>(found - sums_.begin())];
}

}  // namespace mylos

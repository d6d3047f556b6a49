// TokenDraw: draws a token from its logits.
//
// A token's probability is softmax(logits / temperature) over the top_k largest logits. Random numbers are
// counter-based: the n-th token of a text depends only on the seed, n and the logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/inference/draw_options.hpp"

namespace mylos {

class TokenDraw {
 public:
  /// Throws Error (bad_input) if temperature or top_k is below 0.
  explicit TokenDraw(const DrawOptions& options);

  /// Returns the token numbered `index` of a text. Of equal logits the lower token is the likelier. Throws
  /// Error where a logit is not finite.
  [[nodiscard]] std::int32_t operator()(std::span<const float> logits, std::uint64_t index);

 private:
  void choose_candidates(std::span<const float> logits);

  DrawOptions options_;
  RandomStream random_;
  std::vector<std::int32_t> candidates_;  // ascending
  std::vector<double> sums_;              // running sums of the candidates' weights
};

}  // namespace mylos

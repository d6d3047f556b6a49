// TextGenerator: continues a text, token by token.
//
// Each token costs one row of the network, because keys and values of earlier tokens are saved. When the
// context is full, its last half becomes the start of an empty one, and the text continues from there.
#pragma once

#include <span>
#include <vector>

#include "mylos/inference/context.hpp"
#include "mylos/inference/token_draw.hpp"
#include "mylos/model/chain/key_value_cache.hpp"

namespace mylos {

class TextGenerator {
 public:
  /// `options`: those of the context's model. Only tokens below `vocabulary` are drawn: the model's other
  /// classes are padding. `prompt`: at least one token; only the end of a prompt longer than the context
  /// counts. Throws Error (bad_input) for an empty prompt, for tokens outside the vocabulary, and as
  /// TokenDraw does.
  TextGenerator(const InferenceContext& context, const ModelOptions& options, std::int64_t vocabulary,
                std::span<const std::int32_t> prompt, const DrawOptions& draw);

  /// Returns the token that follows the prompt and those drawn before.
  [[nodiscard]] std::int32_t next();

 private:
  /// Runs the network over the tokens that the cache lacks. Returns the logits of the token after them.
  [[nodiscard]] std::span<const float> logits_of_next();

  InferenceContext context_;
  std::int64_t vocabulary_;
  TokenDraw draw_;
  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> window_;  // the tokens before the next one
  KeyValueCache cache_;               // of the first of them
  Arena arena_;
  Tensor tokens_;  // [context, 1]
  Tensor logits_;  // [1, classes] in float
  std::vector<float> on_host_;
};

}  // namespace mylos

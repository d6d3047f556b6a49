// TextGenerator: goes on with a text, token by token.
//
// Each token costs one row of the network, because keys and values of those before it are kept. When the
// context is full, the last half of it is put into an empty one, and the text goes on from there.
#pragma once

#include <span>
#include <vector>

#include "mylos/model/chain/key_value_cache.hpp"
#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/inference/token_draw.hpp"

namespace mylos {

class TextGenerator {
 public:
  /// `options` are those of the context's model. Tokens are drawn below `vocabulary`: classes above it only
  /// pad the model's. `prompt`: at least one token; of one longer than the context its end counts. Throws
  /// Error (bad_input) for an empty prompt, for tokens outside the vocabulary, and as TokenDraw does.
  TextGenerator(const InferenceContext& context, const ModelOptions& options, std::int64_t vocabulary,
                std::span<const std::int32_t> prompt, const DrawOptions& draw);

  /// The token that follows the prompt and those drawn before.
  [[nodiscard]] std::int32_t next();

 private:
  /// Runs the network over the tokens that the cache lacks; the logits of what follows the last of them.
  [[nodiscard]] std::span<const float> logits_of_next();

  InferenceContext context_;
  std::int64_t vocabulary_;
  TokenDraw draw_;
  std::uint64_t drawn_ = 0;
  std::vector<std::int32_t> window_;  // tokens that the next one follows
  KeyValueCache cache_;               // of the first of them
  Arena arena_;
  Tensor tokens_;  // [context, 1]
  Tensor logits_;  // [1, classes] in float
  std::vector<float> on_host_;
};

}  // namespace mylos

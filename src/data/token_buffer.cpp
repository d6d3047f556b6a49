#include "token_buffer.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"

namespace mylos {

TokenBuffer::TokenBuffer(std::int64_t context, std::int64_t capacity)
    : context_(context),
      inputs_(uninitialised<Tokens>("batch tokens", capacity * context)),
      labels_(uninitialised<Tokens>("batch next tokens", capacity * context)) {}

void TokenBuffer::put(std::int64_t row, const std::byte* stored, std::int64_t first,
                      const TokenDataset& dataset) {
  std::int32_t* inputs = inputs_.data() + row * context_;
  std::int32_t* labels = labels_.data() + row * context_;
  with_token_type(dataset.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* tokens = reinterpret_cast<const T*>(stored);
    const std::int64_t vocabulary = dataset.vocabulary().size();
    T largest = 0;
    for (std::int64_t i = 0; i <= context_; ++i) largest = std::max(largest, tokens[i]);
    if (largest >= vocabulary) {
      const std::int64_t wrong =
          std::find_if(tokens, tokens + context_, [&](T token) { return token >= vocabulary; }) - tokens;
      fail_input("{}: /tokens element {} (counted from 0) is {}, expected 0 to {}", dataset.path(),
                 first + wrong, tokens[wrong], vocabulary - 1);
    }
    for (std::int64_t i = 0; i < context_; ++i) {
      inputs[i] = static_cast<std::int32_t>(tokens[i]);
      labels[i] = static_cast<std::int32_t>(tokens[i + 1]);
    }
  });
}

Batch TokenBuffer::batch(std::int64_t samples, std::int64_t first_sample, std::int64_t step) const {
  return {.type = DType::int32,
          .inputs = inputs_.data(),
          .labels = labels_.data(),
          .samples = samples,
          .rows = samples * context_,
          .first_sample = first_sample,
          .step = step};
}

std::int64_t TokenBuffer::memory_bytes(std::int64_t context, std::int64_t capacity) {
  return 2 * capacity * context * static_cast<std::int64_t>(sizeof(std::int32_t));
}

}  // namespace mylos

#include "mylos/data/tokens/token_buffer.hpp"

namespace mylos {

TokenBuffer::TokenBuffer(std::int64_t context, std::int64_t capacity)
    : context_(context),
      inputs_("batch tokens", capacity * context, HostMemory::page_locked),
      labels_("batch next tokens", capacity * context, HostMemory::page_locked) {}

void TokenBuffer::put(std::int64_t row, const std::byte* stored, std::int64_t first,
                      const TokenDataset& dataset) {
  dataset.require_in_vocabulary(stored, first, context_ + 1);
  std::int32_t* inputs = inputs_.data() + row * context_;
  std::int32_t* labels = labels_.data() + row * context_;
  with_token_type(dataset.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto* tokens = reinterpret_cast<const T*>(stored);
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

#include "mylos/model/chain/key_value_cache.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/attention/attention.hpp"

namespace mylos {

KeyValueCache::KeyValueCache(const ModelOptions& model, const Chain& chain)
    : capacity_(model.context), arena_("keys and values", memory_bytes(model, chain)) {
  place(model, chain, Pieces(arena_.data()));
}

std::size_t KeyValueCache::memory_bytes(const ModelOptions& model, const Chain& chain) {
  return KeyValueCache().place(model, chain, Pieces(nullptr));
}

std::size_t KeyValueCache::place(const ModelOptions& model, const Chain& chain, Pieces pieces) {
  for (const auto& block : chain.blocks) {
    if (block->signature().kind != "attention") continue;
    const DType type = block->signature().output_type;
    keys_.push_back(pieces.take_tensor(type, model.context, model.width));
    values_.push_back(pieces.take_tensor(type, model.context, model.width));
  }
  const AttentionShape shape{1, model.context, model.heads, model.width / model.heads, DType::fp32};
  workspace_ = pieces.take_bytes(attention_append_workspace(shape, model.context));
  return pieces.bytes();
}

void KeyValueCache::require_room(std::int64_t rows) const {
  if (length_ + rows > capacity_) {
    fail_run(errors::internal, "{} tokens after {} do not fit the context of {}", rows, length_, capacity_);
  }
}

void KeyValueCache::advance(std::int64_t rows) {
  require_room(rows);
  length_ += rows;
}

}  // namespace mylos

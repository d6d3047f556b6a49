#include "mylos/model/key_value_cache.hpp"

#include "mylos/base/pieces.hpp"
#include "mylos/kernels/attention.hpp"

namespace mylos {

KeyValueCache::KeyValueCache(const ModelOptions& model, const Chain& chain) : capacity_(model.context) {
  std::vector<DType> types;
  for (const auto& block : chain.blocks) {
    if (block->signature().kind == "attention") types.push_back(block->signature().output_type);
  }
  const AttentionShape shape{1, capacity_, model.heads, model.width / model.heads, DType::fp32};
  const auto cut = [&](Pieces pieces) {
    keys_.clear();
    values_.clear();
    for (const DType type : types) {
      keys_.push_back(pieces.take_tensor(type, capacity_, model.width));
      values_.push_back(pieces.take_tensor(type, capacity_, model.width));
    }
    workspace_ = pieces.take_bytes(attention_append_workspace(shape, capacity_));
    return pieces.bytes();
  };
  arena_ = Arena("keys and values", cut(Pieces(nullptr)));
  cut(Pieces(arena_.data()));
}

void KeyValueCache::require_room(std::int64_t rows) const {
  if (length_ + rows > capacity_) {
    fail_run("{} tokens after {} do not fit the context of {}", rows, length_, capacity_);
  }
}

void KeyValueCache::advance(std::int64_t rows) {
  require_room(rows);
  length_ += rows;
}

}  // namespace mylos

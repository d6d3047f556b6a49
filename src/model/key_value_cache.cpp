#include "mylos/model/key_value_cache.hpp"

#include "mylos/kernels/attention.hpp"

namespace mylos {

KeyValueCache::KeyValueCache(const ModelOptions& model, const Chain& chain) : capacity_(model.context) {
  std::vector<DType> types;
  for (const auto& block : chain.blocks) {
    if (block->kind() == "attention") types.push_back(block->output_type());
  }
  std::vector<std::size_t> offsets;
  std::size_t end = 0;
  for (const DType type : types) {
    offsets.push_back(end);
    end += 2 * aligned_bytes(static_cast<std::size_t>(capacity_ * model.width) * size_of(type));
  }
  workspace_ = end;
  const AttentionShape shape{1, capacity_, model.heads, model.width / model.heads, DType::fp32};
  end += aligned_bytes(attention_append_workspace(shape, capacity_));
  arena_ = Arena("keys and values", end);
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    const Tensor keys = arena_.tensor(offsets[layer], types[layer], capacity_, model.width);
    keys_.push_back(keys);
    values_.push_back(
        arena_.tensor(offsets[layer] + aligned_bytes(keys.bytes()), types[layer], capacity_, model.width));
  }
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

// KeyValueCache: the keys and values of one sample's tokens in every attention layer, so that a new token
// costs one row.
#pragma once

#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

class KeyValueCache {
 public:
  /// Allocates a cache for the chain that make_gpt made from `model`, with room for model.context tokens.
  KeyValueCache(const ModelOptions& model, const Chain& chain);
  /// Returns the bytes of such a cache.
  [[nodiscard]] static std::size_t memory_bytes(const ModelOptions& model, const Chain& chain);

  /// Returns the number of tokens that forward passes have stored.
  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  /// Starts a new sample.
  void clear() { length_ = 0; }
  /// Counts the rows of a forward pass after all layers have stored them. Throws Error past the capacity.
  void advance(std::int64_t rows);
  void require_room(std::int64_t rows) const;

  /// [capacity, width]
  [[nodiscard]] const Tensor& keys(std::size_t layer) const { return keys_[layer]; }
  [[nodiscard]] const Tensor& values(std::size_t layer) const { return values_[layer]; }
  [[nodiscard]] std::byte* workspace() const { return workspace_; }
  [[nodiscard]] std::size_t bytes() const { return arena_.bytes(); }

 private:
  KeyValueCache() = default;
  /// Sets the tensors' offsets in these pieces; returns their bytes.
  std::size_t place(const ModelOptions& model, const Chain& chain, Pieces pieces);

  std::int64_t length_ = 0;
  std::int64_t capacity_ = 0;
  std::byte* workspace_ = nullptr;
  Arena arena_;
  std::vector<Tensor> keys_, values_;
};

}  // namespace mylos

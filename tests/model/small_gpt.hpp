// A small GPT with a batch of tokens, for tests.
#pragma once

#include "model/guarded_block.hpp"
#include "mylos/model/network/gpt.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos::test {

/// Sizes that are not round numbers: an odd context, a vocabulary larger than the tokens that occur.
inline ModelOptions small_gpt_options() {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.layers = 2;
  model.heads = 2;
  model.width = 8;
  model.context = 5;
  model.vocabulary = 13;
  return model;
}

inline std::vector<std::int32_t> drawn_tokens(std::size_t count, std::int32_t vocabulary, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(vocabulary)));
  }
  return tokens;
}

/// Tokens in device memory.
class TokenArray {
 public:
  explicit TokenArray(const std::vector<std::int32_t>& tokens)
      : arena_("tokens", tokens.size() * 4), rows_(static_cast<std::int64_t>(tokens.size())) {
    copy_to_device(tokens.data(), arena_.data(), tokens.size() * 4);
  }
  [[nodiscard]] Tensor tensor() const { return arena_.tensor(0, DType::int32, rows_, 1); }
  [[nodiscard]] const std::int32_t* data() const { return tensor().as<std::int32_t>(); }

 private:
  Arena arena_;
  std::int64_t rows_;
};

/// Weights far from their small initial values, so that every part of the network matters: a product with a
/// matrix approximately preserves magnitudes.
inline void set_lively_weights(ParameterStore& parameters) {
  int seed = 100;
  for (const ParameterSlot& slot : parameters.layout().slots) {
    const float range = std::sqrt(3.0f / static_cast<float>(slot.spec.columns));  // variance 1 / columns
    std::vector<float> values = drawn_values(slot.size(), ++seed, slot.spec.is_matrix ? range : 0.25f);
    for (float& value : values) value += slot.spec.initial_value;
    set_values(parameters.master(slot), values);
  }
  parameters.refresh_compute_weights(Execution());
  Kokkos::fence();
}

}  // namespace mylos::test

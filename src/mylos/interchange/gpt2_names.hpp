// The names of our GPT's parameters in Hugging Face's GPT-2.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/model/options.hpp"

namespace mylos {

struct TensorName {
  std::string parameter;    // ours: "attention1/qkv_weight"
  std::string tensor;       // theirs: "h.0.attn.c_attn.weight"
  bool transposed = false;  // theirs is [inputs, outputs], ours [outputs, inputs]
};

/// Returns all parameters of a GPT with these layers, biases included, in the network's order; the head is
/// last and only present if it is not tied.
[[nodiscard]] std::vector<TensorName> gpt2_names(const ModelOptions& model);

/// The prefix of all names but the head's in files of GPT2LMHeadModel; files of the bare GPT2Model lack it.
inline constexpr const char* gpt2_prefix = "transformer.";
inline constexpr const char* gpt2_head = "lm_head.weight";

/// Returns the names of the causal masks that older files store with the parameters of layer `layer`, counted
/// from 0.
[[nodiscard]] std::array<std::string, 2> gpt2_masks(std::int64_t layer);

}  // namespace mylos

// What Hugging Face's GPT-2 calls the parameters of our GPT.
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

/// All parameters of a GPT with these layers, biases included, in the network's order; the head last, and
/// only if it is not tied.
[[nodiscard]] std::vector<TensorName> gpt2_names(const ModelOptions& model);

/// What files of GPT2LMHeadModel put before every name but the head's; files of the bare GPT2Model do not.
inline constexpr const char* gpt2_prefix = "transformer.";
inline constexpr const char* gpt2_head = "lm_head.weight";

/// The causal masks that older files hold beside the parameters of layer `layer`, counted from 0.
[[nodiscard]] std::array<std::string, 2> gpt2_masks(std::int64_t layer);

}  // namespace mylos

// GPT-2 in Hugging Face's format: one safetensors file with a config.json in the same folder.
#pragma once

#include <string>

#include "mylos/interchange/gpt_weights.hpp"
#include "mylos/precision/conversion_safety.hpp"

namespace mylos {

struct ImportOptions {
  std::int64_t heads = 0;           // 0: from config.json
  std::int64_t pad_vocabulary = 1;  // rows of zeros make the vocabulary a multiple of this
};

/// Reads the weights. Names, shapes and the required memory are checked before it is allocated. Head weights
/// equal to the token embedding are tied. Throws Error: bad_input if the file is not a GPT-2, lacks a tensor,
/// or has a tensor of another shape or one that a GPT-2 does not have.
[[nodiscard]] GptWeights read_huggingface(const std::string& path, const ImportOptions& options);

/// Returns the effect of narrower types on the numbers that write_huggingface writes. Throws Error
/// (bad_input) if GPT-2 cannot express the network.
[[nodiscard]] ConversionSafety huggingface_safety(const GptWeights& weights);

/// Writes the file with every tensor in `type`, and config.json in the same folder. Vocabulary padding is
/// removed; missing biases are written as zeros. Throws Error (bad_input), and writes nothing, if GPT-2
/// cannot express the network, if a number exceeds the type, or if a config.json of another network exists.
void write_huggingface(const GptWeights& weights, const std::string& path, DType type);

}  // namespace mylos

// GPT-2 in Hugging Face's form: one safetensors file, and config.json beside it.
#pragma once

#include <string>

#include "mylos/interchange/gpt_weights.hpp"
#include "mylos/precision/conversion_safety.hpp"

namespace mylos {

struct ImportOptions {
  std::int64_t heads = 0;           // 0: config.json says
  std::int64_t pad_vocabulary = 1;  // rows of zeros make the vocabulary a multiple of this
};

/// Names, shapes and the memory that the weights take are checked before it is taken. Head weights that are
/// the token embedding again are tied. Throws Error: bad_input for a file that is no GPT-2, lacks a tensor,
/// has one of another shape, or has one more than a GPT-2 has.
[[nodiscard]] GptWeights read_huggingface(const std::string& path, const ImportOptions& options);

/// What narrower types would do to the numbers that write_huggingface writes. Throws Error
/// (bad_input) where GPT-2 cannot express the network.
[[nodiscard]] ConversionSafety huggingface_safety(const GptWeights& weights);

/// Writes the file with every tensor in `type` (what padded the vocabulary is cut off; biases that the
/// network does not have are zeros) and config.json beside it. Throws Error (bad_input) where GPT-2 cannot
/// express the network, where a number is beyond the type, and where a config.json of another network is
/// there already; then nothing is written.
void write_huggingface(const GptWeights& weights, const std::string& path, DType type);

}  // namespace mylos

// config.json: what Hugging Face keeps beside the weights of a GPT-2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/model/options.hpp"

namespace mylos {

/// What the file says of a network's shape; nothing for keys that it lacks.
struct Gpt2Config {
  std::optional<std::int64_t> layers, heads, width, context, vocabulary;
  std::optional<bool> tied;
};

/// The config.json in the folder of `weights_path`.
[[nodiscard]] std::string gpt2_config_path(const std::string& weights_path);

/// Nothing if there is no such file. Throws Error (bad_input) if it is no configuration of a GPT-2, or of one
/// that computes otherwise than our GPT does.
[[nodiscard]] std::optional<Gpt2Config> read_gpt2_config(const std::string& path);

/// The file's text for a network of this shape with this many tokens.
[[nodiscard]] std::string gpt2_config_text(const ModelOptions& model, std::int64_t vocabulary);

}  // namespace mylos

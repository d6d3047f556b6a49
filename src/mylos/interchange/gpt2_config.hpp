// config.json: the file that Hugging Face stores with the weights of a GPT-2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mylos/model/options.hpp"

namespace mylos {

/// The shape of a network in the file; members are empty for keys that it lacks.
struct Gpt2Config {
  std::optional<std::int64_t> layers, heads, width, context, vocabulary;
  std::optional<bool> tied;
};

/// Returns the path of config.json in the folder of `weights_path`.
[[nodiscard]] std::string gpt2_config_path(const std::string& weights_path);

/// Returns nothing if there is no such file. Throws Error (bad_input) if it is not the configuration of a
/// GPT-2, or if that GPT-2 computes differently from our GPT.
[[nodiscard]] std::optional<Gpt2Config> read_gpt2_config(const std::string& path);

/// Returns the file's text for a network of this shape with this number of tokens.
[[nodiscard]] std::string gpt2_config_text(const ModelOptions& model, std::int64_t vocabulary);

}  // namespace mylos

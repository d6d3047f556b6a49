#include "mylos/interchange/gpt2_config.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"

namespace mylos {
namespace {

using nlohmann::json;

constexpr std::uintmax_t max_bytes = std::uintmax_t{1} << 20;  // for a file of about 30 lines
constexpr std::uint64_t max_number = (std::uint64_t{1} << 31) - 1;

json parse(const std::string& path) {
  std::error_code failure;
  if (std::filesystem::file_size(path, failure) > max_bytes || failure) {
    fail_input(errors::wrong_format,
               "{}: is not a configuration: it cannot be read or has more than {} bytes", path, max_bytes);
  }
  json config = json::parse(file_text(path), nullptr, false);
  if (!config.is_object()) fail_input(errors::wrong_format, "{}: is not a JSON object", path);
  return config;
}

std::optional<std::int64_t> number(const json& config, const char* key, const std::string& path) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return std::nullopt;
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() > max_number) {
    fail_input(errors::bad_value, "{}: {} is not an integer from 0 to {}", path, key, max_number);
  }
  return found->get<std::int64_t>();
}

/// Checks that a key's value is one that our GPT implements; an absent or null key means that value.
void require(const json& config, const char* key, std::initializer_list<json> same, const std::string& path) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return;
  for (const json& value : same) {
    if (*found == value) return;
  }
  // A list or an object from a foreign file may be nested so deeply that dump() overflows the stack.
  const std::string value = found->is_structured()
                                ? std::string("an ") + found->type_name()
                                : found->dump(-1, ' ', false, json::error_handler_t::replace);
  fail_input(errors::unsupported_feature, "{}: {} is {}, which the GPT of Mylos does not support; it has {}",
             path, key, printable(value), same.begin()->dump());
}

}  // namespace

std::string gpt2_config_path(const std::string& weights_path) {
  return (std::filesystem::path(weights_path).parent_path() / "config.json").string();
}

std::optional<Gpt2Config> read_gpt2_config(const std::string& path) {
  std::error_code failure;
  const auto there = std::filesystem::status(path, failure);
  if (there.type() == std::filesystem::file_type::not_found) return std::nullopt;
  if (failure) {
    fail_input(errors::cannot_read, "{}: cannot be read: {}; remove it, or put the network's own there",
               printable(path), failure.message());
  }
  const json config = parse(path);
  Gpt2Config result;
  result.layers = number(config, "n_layer", path);
  result.heads = number(config, "n_head", path);
  result.width = number(config, "n_embd", path);
  result.context = number(config, "n_positions", path);
  result.vocabulary = number(config, "vocab_size", path);
  require(config, "model_type", {"gpt2"}, path);
  require(config, "activation_function", {"gelu_new", "gelu_pytorch_tanh"}, path);
  require(config, "layer_norm_epsilon", {1e-5}, path);
  require(config, "scale_attn_weights", {true}, path);
  require(config, "scale_attn_by_inverse_layer_idx", {false}, path);
  require(config, "add_cross_attention", {false}, path);
  if (result.width) require(config, "n_inner", {4 * *result.width}, path);
  require(config, "tie_word_embeddings", {true, false}, path);
  if (const auto tied = config.find("tie_word_embeddings"); tied != config.end() && tied->is_boolean()) {
    result.tied = tied->get<bool>();
  }
  return result;
}

std::string gpt2_config_text(const ModelOptions& model, std::int64_t vocabulary) {
  const nlohmann::ordered_json config = {{"architectures", json::array({"GPT2LMHeadModel"})},
                                         {"model_type", "gpt2"},
                                         {"n_layer", model.layers},
                                         {"n_head", model.heads},
                                         {"n_embd", model.width},
                                         {"n_positions", model.context},
                                         {"vocab_size", vocabulary},
                                         {"activation_function", "gelu_new"},
                                         {"layer_norm_epsilon", 1e-5},
                                         {"tie_word_embeddings", model.tied},
                                         {"attn_pdrop", model.dropout},
                                         {"embd_pdrop", model.dropout},
                                         {"resid_pdrop", model.dropout}};
  return config.dump(2) + '\n';
}

}  // namespace mylos

#include "mylos/interchange/gpt2_names.hpp"

#include <fmt/format.h>

namespace mylos {
namespace {

enum Layout { as_it_is, transposed };

struct Row {
  const char* parameter;  // {}: the layer, counted from 1
  const char* tensor;     // {}: the layer, counted from 0
  Layout layout;
};

constexpr std::array<Row, 2> beginning{{
    {"embedding/token", "wte.weight", as_it_is},
    {"embedding/position", "wpe.weight", as_it_is},
}};

// Hugging Face's linear layers are of class Conv1D, which stores weights as [inputs, outputs].
constexpr std::array<Row, 12> layer_rows{{
    {"attention{}/norm_weight", "h.{}.ln_1.weight", as_it_is},
    {"attention{}/norm_bias", "h.{}.ln_1.bias", as_it_is},
    {"attention{}/qkv_weight", "h.{}.attn.c_attn.weight", transposed},
    {"attention{}/qkv_bias", "h.{}.attn.c_attn.bias", as_it_is},
    {"attention{}/output_weight", "h.{}.attn.c_proj.weight", transposed},
    {"attention{}/output_bias", "h.{}.attn.c_proj.bias", as_it_is},
    {"mlp{}/norm_weight", "h.{}.ln_2.weight", as_it_is},
    {"mlp{}/norm_bias", "h.{}.ln_2.bias", as_it_is},
    {"mlp{}/up_weight", "h.{}.mlp.c_fc.weight", transposed},
    {"mlp{}/up_bias", "h.{}.mlp.c_fc.bias", as_it_is},
    {"mlp{}/down_weight", "h.{}.mlp.c_proj.weight", transposed},
    {"mlp{}/down_bias", "h.{}.mlp.c_proj.bias", as_it_is},
}};

constexpr std::array<Row, 2> final_rows{{
    {"final_norm/weight", "ln_f.weight", as_it_is},
    {"final_norm/bias", "ln_f.bias", as_it_is},
}};

}  // namespace

std::vector<TensorName> gpt2_names(const ModelOptions& model) {
  std::vector<TensorName> names;
  const auto add = [&](const Row& row, std::int64_t layer) {
    names.push_back({fmt::format(fmt::runtime(row.parameter), layer + 1),
                     fmt::format(fmt::runtime(row.tensor), layer), row.layout == transposed});
  };
  for (const Row& row : beginning) add(row, 0);
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (const Row& row : layer_rows) add(row, layer);
  }
  for (const Row& row : final_rows) add(row, 0);
  if (!model.tied) names.push_back({"head/weight", gpt2_head, false});
  return names;
}

std::array<std::string, 2> gpt2_masks(std::int64_t layer) {
  return {fmt::format("h.{}.attn.bias", layer), fmt::format("h.{}.attn.masked_bias", layer)};
}

}  // namespace mylos

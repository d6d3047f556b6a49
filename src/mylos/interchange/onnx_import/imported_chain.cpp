#include "mylos/interchange/onnx_import/imported_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace mylos {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

/// Endings of names that say what of a layer it is.
constexpr std::string_view endings[] = {
    "weight", "bias",  "kernel", "running_mean",     "Conv",         "Gemm",
    "MatMul", "gamma", "scale",  "weight_quantized", "ConvTranspose"};

void scale_rows(std::vector<float>& weight, const std::vector<double>& scale) {
  const std::size_t row = weight.size() / scale.size();
  for (std::size_t i = 0; i < weight.size(); ++i)
    weight[i] = static_cast<float>(static_cast<double>(weight[i]) * scale[i / row]);
}

void scale_and_shift(std::vector<float>& bias, const std::vector<double>& scale,
                     const std::vector<double>& shift) {
  bias.resize(scale.size(), 0.F);
  for (std::size_t i = 0; i < bias.size(); ++i)
    bias[i] = static_cast<float>(static_cast<double>(bias[i]) * scale[i] + shift[i]);
}

bool all_are(const std::vector<double>& values, double value) {
  return std::all_of(values.begin(), values.end(), [&](double each) { return each == value; });
}

bool fold_into_norm(ImportedChain& chain, const LayerOptions& layer, const std::string& path,
                    const std::vector<double>& scale, const std::vector<double>& shift) {
  const bool has_bias = layer.norm != NormType::rmsnorm;
  if (!has_bias && !all_are(shift, 0)) return false;
  scale_rows(chain.weights[path + "/weight"], scale);
  if (has_bias) scale_and_shift(chain.weights[path + "/bias"], scale, shift);
  return true;
}

}  // namespace

std::string layer_name_of(std::string name) {
  if (name.find("::") != std::string::npos || name.starts_with("val_")) return "";
  std::replace(name.begin(), name.end(), '/', '.');
  for (char& c : name) {
    if (!is_word(c)) c = '_';
  }
  const auto cut = [&](std::string_view ending) {
    if (!name.ends_with(ending) || name.size() <= ending.size()) return;
    const char before = name[name.size() - ending.size() - 1];
    if (before == '.' || before == '_') name.resize(name.size() - ending.size() - 1);
  };
  for (const std::string_view ending : endings) cut(ending);
  std::replace(name.begin(), name.end(), '.', '_');
  const std::size_t first = name.find_first_not_of("_-");
  name = first == std::string::npos ? "" : name.substr(first);
  constexpr std::size_t longest = 60;
  const bool is_descriptive =
      name.size() <= longest && !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  const bool is_ending = std::find(std::begin(endings), std::end(endings), name) != std::end(endings);
  return is_descriptive && !is_ending ? name : "";
}

std::string ImportedChain::unique_name(const LayerOptions& layer, const std::string& hint) {
  std::string name = layer_name_of(hint);
  if (name.empty()) name = fmt::format("{}{}", mylos::name_of(layer.kind), layers_.size() + 1);
  const std::string first = name;
  for (int copy = 2; !names_.insert(name).second; ++copy) name = fmt::format("{}_{}", first, copy);
  return name;
}

std::string ImportedChain::name_of(std::size_t boundary) const {
  return boundary == 0 ? "input" : layers_[boundary - 1].name;
}

std::string ImportedChain::norm_path(std::size_t boundary) const {
  const LayerOptions& layer = layers_[boundary - 1];
  return std::holds_alternative<kinds::Norm>(layer.kind) ? layer.name : layer.name + ".norm";
}

std::size_t ImportedChain::append(LayerOptions layer, std::size_t from, const std::string& name) {
  if (from != last()) {
    LayerOptions branch{.kind = kinds::Branch{}, .skip_from = name_of(from)};
    branch.name = unique_name(branch, "");
    layers_.push_back(std::move(branch));
  }
  layer.name = unique_name(layer, name);
  layers_.push_back(std::move(layer));
  return last();
}

bool fold(ImportedChain& chain, std::size_t boundary, const std::vector<double>& scale,
          const std::vector<double>& shift) {
  if (boundary == 0) return false;
  LayerOptions& layer = chain.layer(boundary);
  if (layer.activation != Activation::none) return false;
  if (layer.norm != NormType::none)
    return fold_into_norm(chain, layer, chain.norm_path(boundary), scale, shift);
  auto* const conv = std::get_if<kinds::Conv>(&layer.kind);
  if (conv == nullptr && !std::holds_alternative<kinds::Dense>(layer.kind)) return false;
  if (!all_are(scale, 1)) {
    if (conv != nullptr && conv->transposed) return false;  // its rows are inputs
    scale_rows(chain.weights[layer.name + "/weight"], scale);
  }
  const bool has_bias = conv == nullptr || conv->bias;
  if (!has_bias && all_are(shift, 0)) return true;
  if (conv != nullptr) conv->bias = true;
  scale_and_shift(chain.weights[layer.name + "/bias"], scale, shift);
  return true;
}

}  // namespace mylos

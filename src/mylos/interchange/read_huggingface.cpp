#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/interchange/gpt2_config.hpp"
#include "mylos/interchange/gpt2_names.hpp"
#include "mylos/interchange/huggingface_gpt2.hpp"
#include "mylos/io/safetensors/safetensors.hpp"
#include "mylos/model/block/transpose.hpp"

namespace mylos {
namespace {

using safetensors::Entry;
using Shape = std::vector<std::int64_t>;

/// The tensors of the file by GPT-2's names, with or without the prefix.
class NamedTensors {
 public:
  explicit NamedTensors(const std::string& path)
      : reader_(path), prefix_(reader_.find("wte.weight") != nullptr ? "" : gpt2_prefix) {}

  [[nodiscard]] const std::string& path() const { return reader_.path(); }
  [[nodiscard]] std::string full_name(const std::string& name) const {
    return name == gpt2_head ? name : prefix_ + name;
  }
  [[nodiscard]] const Entry* find(const std::string& name) const { return reader_.find(full_name(name)); }
  [[nodiscard]] const Entry& at(const std::string& name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) {
      fail_input(errors::missing_dataset, "{}: has no tensor '{}', which Hugging Face's GPT-2 has", path(),
                 full_name(name));
    }
    return *entry;
  }
  /// Throws Error that explains the required kind of file if no tensor has one of GPT-2's names.
  void require_gpt2() const {
    constexpr std::size_t max_named = 4;
    const auto is_gpt2s = [](std::string_view name) {
      if (name.starts_with(gpt2_prefix)) name.remove_prefix(std::string_view(gpt2_prefix).size());
      return name.starts_with("wte.") || name.starts_with("wpe.") || name.starts_with("h.") ||
             name.starts_with("ln_f.");
    };
    std::vector<std::string> named;
    for (const Entry& entry : reader_.entries()) {
      if (is_gpt2s(entry.name)) return;
      if (named.size() < max_named) named.push_back(printable(entry.name));
    }
    const std::size_t count = reader_.entries().size();
    fail_input(
        errors::wrong_format,
        "{}: does not have the tensor names of Hugging Face's GPT-2, the only network of other programs "
        "that is converted into a checkpoint without a deck; its {} tensors are {}{}. With a deck that "
        "describes this network: `mylos convert {} OUT.h5 --deck DECK`. Tensors in our names and order are "
        "also read by run.initial = \"{}\" and `mylos init DECK OUT.h5 --from {}`",
        path(), count, fmt::join(named, ", "), count > named.size() ? ", ..." : "", path(), path(), path());
  }
  /// Returns a tensor of two dimensions, both above 0.
  [[nodiscard]] const Entry& matrix(const std::string& name) const {
    const Entry& entry = at(name);
    if (entry.shape.size() != 2 || entry.size() == 0) {
      fail_input(errors::bad_dataset, "{}: tensor '{}' is [{}], not a matrix", path(), full_name(name),
                 fmt::join(entry.shape, ", "));
    }
    return entry;
  }
  [[nodiscard]] std::vector<float> read(const std::string& name) {
    const Entry& entry = at(name);
    std::vector<float> values = reader_.read(entry);
    const auto bad =
        std::find_if_not(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    if (bad != values.end()) {
      fail_input(errors::not_finite,
                 "{}: tensor '{}' has {} as its element {} (counted from 0), expected finite numbers", path(),
                 entry.name, *bad, bad - values.begin());
    }
    return values;
  }

  /// Throws Error unless every tensor is a parameter of the model or a mask, which holds no information.
  void require_nothing_more(const ModelOptions& model) const {
    std::set<std::string> known;
    for (const TensorName& name : gpt2_names(model)) known.insert(full_name(name.tensor));
    known.insert(gpt2_head);
    for (std::int64_t layer = 0; layer < model.layers; ++layer) {
      for (const std::string& mask : gpt2_masks(layer)) known.insert(full_name(mask));
    }
    for (const Entry& entry : reader_.entries()) {
      if (known.contains(entry.name)) continue;
      fail_input(errors::model_mismatch, "{}: has the tensor '{}', which a GPT-2 of {} layers does not have",
                 path(), printable(entry.name), model.layers);
    }
  }

 private:
  safetensors::Reader reader_;
  std::string prefix_;
};

void require_same(const std::optional<std::int64_t>& configured, const char* key, std::int64_t of_file,
                  const std::string& path) {
  if (!configured || *configured == of_file) return;
  fail_input(errors::model_mismatch, "{}: {} is {}, but {} has {}", gpt2_config_path(path), key, *configured,
             path, of_file);
}

std::int64_t choose_heads(const Gpt2Config& config, std::int64_t asked, std::int64_t width,
                          const std::string& path) {
  if (!config.heads && asked == 0) {
    fail_input(errors::missing_argument,
               "{}: shapes do not determine the number of heads, and {} does not state it; give --heads N",
               path, gpt2_config_path(path));
  }
  if (config.heads && asked != 0 && *config.heads != asked) {
    fail_input(errors::arguments_conflict, "--heads {}: {} says {}; remove the option", asked,
               gpt2_config_path(path), *config.heads);
  }
  const std::int64_t heads = config.heads.value_or(asked);
  if (heads < 1 || width % heads != 0)
    fail_input(errors::bad_argument, "{}: {} heads do not divide the width {}", path, heads, width);
  return heads;
}

ModelOptions model_of(const NamedTensors& file, const Gpt2Config& config, const ImportOptions& options) {
  ModelOptions model;
  model.type = ModelType::gpt;
  model.norm = NormType::layernorm;
  model.vocabulary = file.matrix("wte.weight").shape[0];
  model.width = file.matrix("wte.weight").shape[1];
  model.context = file.matrix("wpe.weight").shape[0];
  while (file.find(fmt::format("h.{}.ln_1.weight", model.layers)) != nullptr) ++model.layers;
  if (model.layers == 0) (void)file.at("h.0.ln_1.weight");
  require_same(config.layers, "n_layer", model.layers, file.path());
  require_same(config.width, "n_embd", model.width, file.path());
  require_same(config.context, "n_positions", model.context, file.path());
  require_same(config.vocabulary, "vocab_size", model.vocabulary, file.path());
  model.heads = choose_heads(config, options.heads, model.width, file.path());
  model.tied = config.tied.value_or(true) && file.find(gpt2_head) == nullptr;
  return model;
}

void require_shapes(const NamedTensors& file, const ModelOptions& model) {
  std::map<std::string, ParameterSpec> specs;
  for (const GptParameter& parameter : gpt_parameters(model)) specs[parameter.path] = parameter.spec;
  for (const TensorName& name : gpt2_names(model)) {
    const ParameterSpec& spec = specs.at(name.parameter);
    Shape expected = spec.is_matrix ? Shape{spec.rows, spec.columns} : Shape{spec.columns};
    if (name.transposed) std::swap(expected[0], expected[1]);
    const Entry& entry = file.at(name.tensor);
    if (entry.shape != expected) {
      fail_input(errors::bad_dataset, "{}: tensor '{}' is [{}], a GPT-2 of width {} has [{}]", file.path(),
                 entry.name, fmt::join(entry.shape, ", "), model.width, fmt::join(expected, ", "));
    }
  }
  file.require_nothing_more(model);
}

/// Removes a head that repeats the embedding, as files of tied networks may have.
void tie_equal_head(GptWeights& weights, const Gpt2Config& config, const std::string& path) {
  if (weights.model.tied || config.tied == false) return;
  if (weights.parameters.at("head/weight") != weights.parameters.at("embedding/token")) {
    if (!config.tied) return;
    fail_input(errors::model_mismatch,
               "{}: tie_word_embeddings is true, but in {} the tensor '{}' is not the token embedding",
               gpt2_config_path(path), path, gpt2_head);
  }
  weights.parameters.erase("head/weight");
  weights.model.tied = true;
}

void pad_vocabulary(GptWeights& weights, std::int64_t multiple) {
  std::int64_t& padded = weights.model.vocabulary;
  padded = (padded + multiple - 1) / multiple * multiple;
  for (const char* path : {"embedding/token", "head/weight"}) {
    const auto matrix = weights.parameters.find(path);
    if (matrix == weights.parameters.end()) continue;
    matrix->second.resize(static_cast<std::size_t>(padded * weights.model.width));
  }
}

}  // namespace

GptWeights read_huggingface(const std::string& path, const ImportOptions& options) {
  NamedTensors file(path);
  file.require_gpt2();
  GptWeights weights;
  const Gpt2Config config = read_gpt2_config(gpt2_config_path(path)).value_or(Gpt2Config{});
  weights.model = model_of(file, config, options);
  weights.vocabulary = weights.model.vocabulary;
  const std::string& type = file.at("wte.weight").type;
  for (const DType candidate : {DType::fp16, DType::bf16}) {
    if (safetensors::word_of(candidate) == type) weights.type = candidate;
  }
  (void)deck_of(weights, path);  // refuses networks beyond a deck's limits
  require_shapes(file, weights.model);
  require_memory(gpt_parameters(weights.model), path);
  for (const TensorName& name : gpt2_names(weights.model)) {
    std::vector<float> values = file.read(name.tensor);
    if (name.transposed) {
      const Shape& shape = file.at(name.tensor).shape;
      values = transpose(values, shape[0], shape[1]);
    }
    weights.parameters[name.parameter] = std::move(values);
  }
  tie_equal_head(weights, config, path);
  pad_vocabulary(weights, options.pad_vocabulary);
  return weights;
}

}  // namespace mylos

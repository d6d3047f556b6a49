#include "mylos/train/start/initial_meaning.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/precision/policy.hpp"
#include "mylos/train/start/layer_facts.hpp"

namespace mylos {
namespace {

/// A layer of the network, each copy of a repeated one by itself.
struct NamedLayer {
  std::string name;
  LayerOptions options;
};

/// Of an mlp those that a chain would have.
std::vector<NamedLayer> layers_of(const ModelOptions& model) {
  std::vector<NamedLayer> layers;
  if (model.type == ModelType::mlp) {
    for (std::size_t i = 1; i <= model.hidden.size(); ++i) {
      const bool is_normalised = model.norm != NormType::none;
      const bool norm_first = is_normalised && model.norm_first;
      const Activation activation = model.activation;
      layers.push_back(
          {fmt::format("hidden{}", i), {.activation = norm_first ? Activation::none : activation}});
      if (!is_normalised) continue;
      LayerOptions norm{.kind = kinds::Norm{}, .norm = model.norm};
      if (norm_first) norm.activation = activation;
      layers.push_back({fmt::format("norm{}", i), std::move(norm)});
    }
    layers.push_back({"head", {}});
  }
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const LayerOptions& layer = model.chain[i];
    const std::string name = layer_name(model.chain, i);
    for (std::int64_t copy = 1; copy <= layer.repeat; ++copy)
      layers.push_back({layer.repeat == 1 ? name : fmt::format("{}.{}", name, copy), layer});
  }
  return layers;
}

bool has_weights(const NamedLayer& layer) {
  const auto* sum = std::get_if<kinds::Add>(&layer.options.kind);
  return traits_of(layer.options.kind).has_weights || (sum != nullptr && sum->gated) ||
         layer.options.norm != NormType::none;
}

/// The layer that has this block; layers.size(): none.
std::size_t layer_of_block(const std::vector<NamedLayer>& layers, const std::string& block) {
  const auto found = std::find_if(layers.begin(), layers.end(), [&](const NamedLayer& layer) {
    return layer.name == block || layer.name + ".norm" == block;
  });
  return static_cast<std::size_t>(found - layers.begin());
}

/// Two networks layer by layer.
class LayerComparison {
 public:
  LayerComparison(const Options& file, const Options& here, const std::vector<TakenLayer>& taken)
      : here_options_(here), file_(layers_of(file.model)), here_(layers_of(here.model)) {
    for (const TakenLayer& layer : taken) {
      const std::size_t own = layer_of_block(here_, layer.here);
      const std::size_t other = layer_of_block(file_, layer.in_file);
      if (own < here_.size() && other < file_.size()) matched_.emplace(own, other);
    }
  }

  [[nodiscard]] std::vector<KeyDifference> differences() {
    compare_between();
    for (const auto& [own, other] : matched_) compare(here_[own], file_[other]);
    return std::move(differences_);
  }
  /// Whether a dense layer is taken that reads a grid, if samples lie on one.
  [[nodiscard]] bool takes_dense_on_grid() const {
    for (std::size_t i = 0; i < here_.size(); ++i) {
      const LayerTraits& traits = traits_of(here_[i].options.kind);
      if (traits.gives_vector) return traits.computes_outputs && matched_.contains(i);
    }
    return false;
  }

 private:
  void add(const std::string& key, std::string before, std::string after) {
    for (const KeyDifference& known : differences_) {
      if (known.key == key) return;  // of an mlp the same of each layer
    }
    differences_.push_back({key, std::move(before), std::move(after)});
  }

  [[nodiscard]] std::string key_of(const NamedLayer& layer, const std::string& name) const {
    const bool is_mlp = here_options_.model.type == ModelType::mlp;
    if (is_mlp && (name == "activation" || name == "norm")) return "model." + name;
    return fmt::format("model.layers.{}.{}", layer.name, name);
  }

  void compare(const NamedLayer& own, const NamedLayer& other) {
    const LayerFacts before = layer_facts(other.options);
    for (const auto& [key, value] : layer_facts(own.options)) {
      const auto same = std::find_if(before.begin(), before.end(),
                                     [&key = key](const auto& fact) { return fact.first == key; });
      if (same != before.end() && same->second != value) add(key_of(own, key), same->second, value);
    }
    const std::vector<std::pair<std::string, std::string>> theirs = named_layers(other.options);
    for (const auto& [key, name] : named_layers(own.options)) {
      const auto same = std::find_if(theirs.begin(), theirs.end(),
                                     [&key = key](const auto& named) { return named.first == key; });
      if (same == theirs.end() || same->second == name_in_file(name)) continue;
      add(key_of(own, key), fmt::format("\"{}\"", same->second), fmt::format("\"{}\"", name));
    }
  }

  /// Returns the file's name of one of our layers, or the name itself if that is not taken.
  [[nodiscard]] std::string name_in_file(const std::string& name) const {
    const auto match = matched_.find(layer_of_block(here_, name));
    return match == matched_.end() ? name : file_[match->second].name;
  }

  /// Of layers that follow each other, what lies between them: the same layers without weights.
  void compare_between() {
    const std::map<std::size_t, std::size_t> taken = matched_;
    if (taken.empty()) return;
    std::size_t own = 0;  // after the last one that was compared
    std::size_t other = 0;
    bool is_first = true;
    for (const auto& [next_own, next_other] : taken) {
      compare_stretch(own, next_own, other, next_other, is_first);
      own = next_own + 1;
      other = next_other + 1;
      is_first = false;
    }
    compare_stretch(own, here_.size(), other, file_.size(), true);
  }

  /// `is_open`: before the first or after the last that is taken, where the file may have more.
  void compare_stretch(std::size_t own, std::size_t own_end, std::size_t other, std::size_t other_end,
                       bool is_open) {
    if (other > other_end) return;  // in another order there
    const auto weighs = [](const std::vector<NamedLayer>& layers, std::size_t begin, std::size_t end) {
      return std::any_of(layers.begin() + static_cast<std::ptrdiff_t>(begin),
                         layers.begin() + static_cast<std::ptrdiff_t>(end), has_weights);
    };
    if (weighs(here_, own, own_end)) return;  // those are drawn, as the deck wants
    if (is_open && weighs(file_, other, other_end)) return;
    if (own_end - own == other_end - other && !weighs(file_, other, other_end)) {
      for (; own < own_end; ++own, ++other) matched_.emplace(own, other);
      return;
    }
    add("model.layers", described(file_, other, other_end), described(here_, own, own_end));
  }

  /// "[conv1, max_pool pool1, head]": with the layers on both sides.
  static std::string described(const std::vector<NamedLayer>& layers, std::size_t begin, std::size_t end) {
    std::vector<std::string> names;
    if (begin > 0) names.push_back(layers[begin - 1].name);
    for (std::size_t i = begin; i < end; ++i)
      names.push_back(fmt::format("{} {}", name_of(layers[i].options.kind), layers[i].name));
    if (end < layers.size()) names.push_back(layers[end].name);
    return fmt::format("[{}]", fmt::join(names, ", "));
  }

  const Options& here_options_;
  std::vector<NamedLayer> file_;
  std::vector<NamedLayer> here_;
  std::map<std::size_t, std::size_t> matched_;  // ours to the file's
  std::vector<KeyDifference> differences_;
};

bool takes_block(const std::vector<TakenLayer>& layers, std::initializer_list<std::string_view> names) {
  return std::any_of(layers.begin(), layers.end(), [&](const TakenLayer& layer) {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return layer.here.starts_with(name); });
  });
}

/// Parameters that only one of the two has are missed or listed by their names; of those that the file has
/// beyond ours only a key says what they were.
std::vector<KeyDifference> differing_transformers(const Options& file, const Options& here,
                                                  const std::vector<TakenLayer>& layers) {
  Options before = here;
  ModelOptions& model = before.model;
  if (takes_block(layers, {"attention"})) {
    model.heads = file.model.heads;
    model.positions = file.model.positions;
  }
  if (takes_block(layers, {"mlp"})) model.feed_forward = file.model.feed_forward;
  if (takes_block(layers, {"attention", "mlp", "final_norm"})) {
    model.norm = file.model.norm;
    model.bias = model.bias || file.model.bias;
  }
  if (takes_block(layers, {"embedding"})) model.tied = model.tied && file.model.tied;
  return differing_keys(before, here);
}

}  // namespace

TakenEnds taken_ends(const ModelOptions& here, const std::vector<TakenLayer>& layers) {
  const std::vector<NamedLayer> own = layers_of(here);
  const auto first = std::find_if(own.begin(), own.end(), has_weights);
  const auto last = std::find_if(own.rbegin(), own.rend(), has_weights);
  if (first == own.end()) return {};
  TakenEnds ends;
  for (const TakenLayer& layer : layers) {
    const std::size_t taken = layer_of_block(own, layer.here);
    ends.first = ends.first || taken == static_cast<std::size_t>(first - own.begin());
    ends.last = ends.last || taken == static_cast<std::size_t>(own.rend() - last) - 1;
  }
  return ends;
}

std::vector<KeyDifference> differing_networks(const Options& file, const std::vector<std::int64_t>& file_grid,
                                              const Options& here, const std::vector<TakenLayer>& layers) {
  const bool is_gpt = here.model.type == ModelType::gpt;
  if (is_gpt != (file.model.type == ModelType::gpt)) return {};  // nothing of the two decks is comparable
  if (is_gpt) return differing_transformers(file, here, layers);
  LayerComparison comparison(file, here, layers);
  std::vector<KeyDifference> differences = comparison.differences();
  if (here.model.type == ModelType::mlp && file.model.type == ModelType::mlp &&
      takes_block(layers, {"hidden", "norm"})) {
    Options before = here;
    before.model.norm = file.model.norm;
    before.model.norm_first = file.model.norm_first;
    const bool same_activation = file.model.activation == here.model.activation;
    const bool both_have_norms = file.model.norm != NormType::none && here.model.norm != NormType::none;
    for (KeyDifference& norm : differing_keys(before, here)) {
      if (norm.key == "model.norm_first" && !both_have_norms) continue;
      std::erase_if(differences, [&](const KeyDifference& known) {
        return known.key == norm.key || known.key == "model.layers" ||
               (same_activation && known.key == "model.activation");
      });
      differences.push_back(std::move(norm));
    }
  }
  Options before = here;
  const TakenEnds ends = taken_ends(here.model, layers);
  if (ends.first || ends.last) before.data.normalize = file.data.normalize;
  if (ends.last) {
    before.model.residual = file.model.residual;
    before.model.nonnegative = file.model.nonnegative;
    before.model.nonnegative_form = file.model.nonnegative_form;
    if (file.data.arrays.all_differences() != here.data.arrays.all_differences()) {
      before.data.arrays.targets_are = file.data.arrays.targets_are;
      before.data.arrays.differences = file.data.arrays.differences;
    }
  }
  const bool both_are_bounded = !before.model.nonnegative.empty() && !here.model.nonnegative.empty();
  for (KeyDifference& difference : differing_keys(before, here))
    if (difference.key != "model.nonnegative_form" || both_are_bounded)
      differences.push_back(std::move(difference));
  const std::vector<std::int64_t>& grid = file.data.shape.empty() ? file_grid : file.data.shape;
  if (comparison.takes_dense_on_grid() && !grid.empty() && !here.model.shape.empty() &&
      grid != here.model.shape) {
    differences.push_back({"data.shape", fmt::format("[{}]", fmt::join(grid, ", ")),
                           fmt::format("[{}]", fmt::join(here.model.shape, ", "))});
  }
  return differences;
}

}  // namespace mylos

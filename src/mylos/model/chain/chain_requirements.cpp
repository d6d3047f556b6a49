#include "mylos/model/chain/chain_requirements.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/chain/short_forms.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

/// "stem (conv), head (linear)"
std::string names_of_layers(const Chain& chain, bool with_head) {
  std::string layers;
  for (std::size_t stage = 0; stage < chain.blocks.size() + (with_head ? 1 : 0); ++stage) {
    const Signature& layer = chain.signature(stage);
    layers += fmt::format("{}{} ({})", layers.empty() ? "" : ", ", layer.name, layer.kind);
  }
  return layers;
}

}  // namespace

void require_weights(const Chain& chain, const Places& places) {
  if (chain.parameter_count() > 0) return;
  fail_input(
      errors::bad_layer,
      "{}the network has no weights, so there is nothing to train: its layers are {}. Give it one that has "
      "weights: kind = \"dense\" or \"conv\"",
      place_of(places, {"model.layers.1", "model.layers", "model.type"}), names_of_layers(chain, false));
}

void require_margins(const Chain& chain, const ModelOptions& model, const Places& places) {
  const std::vector<LayerOptions> layers = expand_short_form(model).chain;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerOptions& layer = layers[i];
    const auto* pad = std::get_if<kinds::Pad>(&layer.kind);
    if (pad == nullptr ||
        std::none_of(pad->margin.begin(), pad->margin.end(), [](double margin) { return margin > 0; }))
      continue;
    const std::string name = layer_name(layers, i) + (layer.repeat == 1 ? "" : ".1");  // the least grid
    for (std::size_t block = 0; block < chain.blocks.size(); ++block) {
      const Signature& pads = chain.blocks[block]->signature();
      if (pads.name != name || pads.inputs != pads.outputs) continue;
      const Extents& extent = chain.grids[block].extent;
      const std::int64_t most = *std::max_element(extent.begin(), extent.end());
      fail_input(errors::bad_layer,
                 "{}layer '{}' adds no points: its 'margin' (model.padding of an \"fno\") rounds to 0 points "
                 "along each axis of its grid of {}; one above 1/{} ({:.4g}) adds a point to {} of them",
                 place_of(places, {fmt::format("model.layers.{}.margin", i + 1), "model.padding",
                                   fmt::format("model.layers.{}", i + 1), "model.layers"}),
                 name, describe(chain.grids[block]), 2 * most, 0.5 / static_cast<double>(most), most);
    }
  }
}

void require_rules_apply(const Chain& chain, const PrecisionOptions& precision) {
  for (const PrecisionRule& rule : precision.rules) {
    const auto applies = [&rule](const auto& block) {
      return rule_applies(rule, block->signature().name, block->signature().kind);
    };
    const bool head_computes = !chain.head->parameters().empty() || chain.head->borrows();
    if (std::any_of(chain.blocks.begin(), chain.blocks.end(), applies)) continue;
    if (head_computes && applies(chain.head)) continue;
    fail_input(errors::unknown_name,
               "precision.rules: '{}' matches no layer of this model, as name, kind or pattern; it has {}",
               rule.pattern, names_of_layers(chain, head_computes));
  }
}

}  // namespace mylos

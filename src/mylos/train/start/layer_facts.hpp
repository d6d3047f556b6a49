// What a layer computes of its weights, as keys and values: two layers with the same facts compute the same.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mylos/model/layers.hpp"

namespace mylos {

/// Keys and values as a deck has them.
using LayerFacts = std::vector<std::pair<std::string, std::string>>;

/// Returns what the layer does, with every default filled in. Layers of one kind have the same keys.
[[nodiscard]] LayerFacts layer_facts(const LayerOptions& layer);

/// Returns the other layers that the layer names, by key.
[[nodiscard]] LayerFacts named_layers(const LayerOptions& layer);

}  // namespace mylos

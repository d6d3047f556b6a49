// Which layers need samples on a grid.
#pragma once

#include <algorithm>

#include "mylos/model/options.hpp"

namespace mylos {

/// Returns whether one of the layers of a chain, whose short form has been expanded, does.
[[nodiscard]] inline bool needs_grid(const ModelOptions& model) {
  return model.type == ModelType::chain &&
         std::any_of(model.chain.begin(), model.chain.end(),
                     [](const LayerOptions& layer) { return traits_of(layer.kind).needs_grid; });
}

}  // namespace mylos

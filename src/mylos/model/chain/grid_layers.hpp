// Which layers need samples on a grid.
#pragma once

#include <algorithm>

#include "mylos/model/options.hpp"

namespace mylos {

/// Returns whether a layer's input must be a grid; others read vectors too.
[[nodiscard]] constexpr bool works_on_grids(LayerKind kind) {
  return kind == LayerKind::conv || kind == LayerKind::spectral || kind == LayerKind::max_pool ||
         kind == LayerKind::average_pool || kind == LayerKind::global_pool || kind == LayerKind::upsample ||
         kind == LayerKind::coordinates || kind == LayerKind::pad || kind == LayerKind::crop;
}

/// Returns whether one of the layers of a chain, whose short form has been expanded, does.
[[nodiscard]] inline bool needs_grid(const ModelOptions& model) {
  return model.type == ModelType::chain &&
         std::any_of(model.chain.begin(), model.chain.end(),
                     [](const LayerOptions& layer) { return works_on_grids(layer.kind); });
}

}  // namespace mylos

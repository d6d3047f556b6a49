#include "mylos/model/chain/levels.hpp"

#include <algorithm>
#include <map>

#include "mylos/model/block/layer_input.hpp"

namespace mylos {
namespace {

/// The number of grid points of a sample per point of the layer's grid, by axis.
using Coarseness = std::vector<std::int64_t>;

/// Returns the coarseness after the layer from that before it.
Coarseness coarsened(const LayerOptions& layer, Coarseness before) {
  std::visit(
      [&](const auto& kind) {
        if constexpr (requires { kind.ratio(0); }) {
          for (std::size_t axis = 0; axis < before.size(); ++axis) {
            const PointRatio ratio = kind.ratio(axis);
            before[axis] =
                std::max<std::int64_t>(1, std::min(before[axis] * ratio.fewer, max_points) / ratio.more);
          }
        }
      },
      layer.kind);
  return before;
}

}  // namespace

void require_levels(const std::vector<LayerOptions>& layers, const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return;
  Coarseness now(shape.size() - 1, 1);
  Coarseness coarsest = now;
  std::map<std::string, Coarseness> of_layer{{"input", now}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (const auto from = of_layer.find(layers[i].skip_from);
        traits_of(layers[i].kind).restarts && from != of_layer.end()) {
      now = from->second;
    }
    for (std::int64_t copy = 0; copy < layers[i].repeat; ++copy) now = coarsened(layers[i], now);
    of_layer[layer_name(layers, i)] = now;
    for (std::size_t axis = 0; axis < now.size(); ++axis)
      coarsest[axis] = std::max(coarsest[axis], now[axis]);
  }
  for (std::size_t axis = 0; axis < now.size(); ++axis) {
    if (shape[axis] % coarsest[axis] == 0) continue;
    fail_input(
        errors::bad_layer,
        "the grid of a sample is {}, and the network makes it {} times coarser and then finer again: its "
        "extents must be divisible by {}, which {} is not; give samples of another size, or fewer levels "
        "(model.channels or model.layers)",
        describe(grid_of(shape)), coarsest[axis], coarsest[axis], shape[axis]);
  }
}

}  // namespace mylos

#include "mylos/model/chain/levels.hpp"

#include <algorithm>
#include <map>

#include "mylos/model/block/layer_input.hpp"

namespace mylos {
namespace {

/// The number of grid points of a sample per point of the layer's grid, by axis.
using Coarseness = std::vector<std::int64_t>;

std::int64_t along(const PerAxis& given, std::size_t axis, std::int64_t absent) {
  return given.empty() ? absent : given.size() == 1 ? given.front() : given[axis];
}

/// Returns the coarseness after the layer from that before it.
Coarseness coarsened(const LayerOptions& layer, Coarseness before) {
  const LayerTraits& traits = traits_of(layer.kind);
  const bool is_finer = traits.refines || layer.transposed;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    const std::int64_t window = traits.has_windows ? along(layer.kernel, axis, 2) : 1;
    const std::int64_t step =
        traits.refines ? along(layer.factor, axis, 2) : along(layer.stride, axis, window);
    before[axis] =
        is_finer ? std::max<std::int64_t>(1, before[axis] / step) : std::min(before[axis] * step, max_points);
  }
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

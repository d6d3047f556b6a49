// The positions, p / n along each axis, are constants.
#include "mylos/model/layers/coordinates/coordinates_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool CoordinatesBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const OnnxNumbers extents = x.extents();
  const auto axes = static_cast<std::int64_t>(extents.size());
  std::vector<float> positions;
  std::int64_t inner = x.grid().points();
  for (const std::int64_t extent : extents) {
    inner /= extent;
    for (std::int64_t point = 0; point < x.grid().points(); ++point)
      positions.push_back(static_cast<float>(point / inner % extent) / static_cast<float>(extent));
  }
  OnnxNumbers dims = extents;
  dims.insert(dims.begin(), {1, axes});
  const std::string constant = graph.numbers("positions", layer.type(), dims, positions);
  const std::string value = x.in(OnnxLayout::channels_first, graph);
  const std::string batch = graph.slice(graph.node("Shape", {value}), 0, 0, 1);
  dims.erase(dims.begin());
  const std::string shape = graph.node("Concat", {batch, graph.integers(dims)}, {{"axis", std::int64_t{0}}});
  const std::string all = graph.node("Expand", {constant, shape});
  GridShape grid = x.grid();
  grid.channels += axes;
  layer.give({grid, x.axes(), layer.type(), OnnxLayout::channels_first,
              graph.node("Concat", {value, all}, {{"axis", std::int64_t{1}}})});
  return true;
}

}  // namespace mylos

#include <utility>

#include "mylos/model/layers/join/gated_add.hpp"
#include "mylos/model/layers/join/join.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool Join::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBoundary& skip = layer.skip();
  OnnxBuilder& graph = layer.graph;
  if (options_.join == JoinType::add) {
    // model.residual adds a vector to a grid with the same numbers
    const bool same = x.grid() == skip.grid() && x.axes() == skip.axes();
    const OnnxLayout layout = same ? x.layout() : OnnxLayout::rows;
    layer.give(
        x.with(layer.type(), layout, graph.node("Add", {x.in(layout, graph), skip.in(layout, graph)})));
    return true;
  }
  GridShape grid = x.grid();
  grid.channels += skip.grid().channels;
  const OnnxLayout layout = OnnxLayout::channels_first;
  std::vector<std::string> parts{x.in(layout, graph), skip.in(layout, graph)};
  if (options_.skip_first) std::swap(parts[0], parts[1]);
  layer.give(
      {grid, x.axes(), layer.type(), layout, graph.node("Concat", parts, {{"axis", std::int64_t{1}}})});
  return true;
}

bool GatedAdd::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBoundary& skip = layer.skip();
  OnnxBuilder& graph = layer.graph;
  const OnnxLayout layout = OnnxLayout::channels_first;
  const OnnxNumbers dims = per_channel(x.grid().channels, x.axes());
  const std::string gated = graph.node("Mul", {skip.in(layout, graph), layer.parameter("weight", dims)});
  layer.give(x.with(layer.type(), layout, graph.node("Add", {x.in(layout, graph), gated})));
  return true;
}

}  // namespace mylos

#include "mylos/model/layers/margins/margin_block.hpp"
#include "mylos/model/onnx/onnx_edges.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool MarginBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const MarginShape& shape = options_.shape;
  std::string value = x.in(OnnxLayout::channels_first, graph);
  const OnnxNumbers first = last_axes(shape.before, x.axes());
  const OnnxNumbers inner = last_axes(shape.inner.extent, x.axes());
  if (options_.change == MarginChange::crop) {
    for (std::size_t axis = 0; axis < x.axes(); ++axis)
      value = graph.slice(value, static_cast<std::int64_t>(axis) + 2, first[axis], first[axis] + inner[axis]);
    layer.give({shape.inner, x.axes(), layer.type(), OnnxLayout::channels_first, value});
    return true;
  }
  if (!is_plain()) {
    layer.give({outer_grid(shape), x.axes(), layer.type(), OnnxLayout::channels_first,
                with_edges(graph, edges(), value, layer.type(), x.axes())});
    return true;
  }
  const OnnxNumbers outer = last_axes(shape.outer, x.axes());
  OnnxNumbers before{0, 0}, after{0, 0};
  for (std::size_t axis = 0; axis < x.axes(); ++axis) {
    before.push_back(first[axis]);
    after.push_back(outer[axis] - inner[axis] - first[axis]);
  }
  layer.give({outer_grid(shape), x.axes(), layer.type(), OnnxLayout::channels_first,
              graph.pad(value, layer.type(), "constant", before, after)});
  return true;
}

}  // namespace mylos

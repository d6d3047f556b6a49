#include "mylos/model/layers/upsample/upsample_block.hpp"
#include "mylos/model/onnx/onnx_edges.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool UpsampleBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const UpsampleShape& shape = options_.shape;
  std::vector<float> scales{1, 1};
  for (const std::int64_t factor : last_axes(shape.factor, x.axes()))
    scales.push_back(static_cast<float>(factor));
  const auto count = static_cast<std::int64_t>(scales.size());
  const bool is_linear = shape.interpolation == Interpolation::linear;
  std::vector<OnnxAttribute> attributes{
      {"mode", std::string(is_linear ? "linear" : "nearest")},
      {"coordinate_transformation_mode", std::string(is_linear ? "half_pixel" : "asymmetric")}};
  if (!is_linear) attributes.push_back({"nearest_mode", std::string("floor")});
  // Resize knows no points beyond the edges: it reads them, and what it makes of them is cut off.
  const GridEdges edges = shape.read_edges();
  std::string value =
      graph.node("Resize",
                 {with_edges(graph, edges, x.in(OnnxLayout::channels_first, graph), layer.type(), x.axes()),
                  "", graph.numbers("scales", OnnxType::float32, {count}, scales)},
                 std::move(attributes));
  for (std::size_t axis = 3 - x.axes(); axis < 3; ++axis) {
    if (edges.padding[axis] == 0) continue;
    const std::int64_t first = shape.factor[axis];
    value = graph.slice(value, static_cast<std::int64_t>(axis + x.axes()) - 1, first,
                        first + output().extent[axis]);
  }
  layer.give({output(), x.axes(), layer.type(), OnnxLayout::channels_first, value});
  return true;
}

}  // namespace mylos

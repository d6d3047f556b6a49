// The softmax is in float, as ours.
#include <cmath>

#include "mylos/model/layers/attention/point_attention.hpp"
#include "mylos/model/layers/attention/positions_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool PointAttention::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const std::int64_t heads = options_.heads;
  const std::int64_t width = options_.head_width;
  const std::string by_head =
      graph.reshape(x.in(OnnxLayout::points, graph), {0, options_.points, 3, heads, width});
  // [3, batch, heads, points, head width]
  const std::string parts =
      graph.cast(graph.transpose(by_head, {2, 0, 3, 1, 4}), layer.type(), OnnxType::float32);
  const auto part = [&](std::int64_t number) {
    return graph.node("Gather", {parts, graph.integer(number)}, {{"axis", std::int64_t{0}}});
  };
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  const std::string q = graph.node("Mul", {part(0), graph.scalar(scale, OnnxType::float32)});
  const std::string scores = graph.node("MatMul", {q, graph.transpose(part(1), {0, 1, 3, 2})});
  const std::string weights = graph.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string means = graph.transpose(graph.node("MatMul", {weights, part(2)}), {0, 2, 1, 3});
  GridShape grid = x.grid();
  grid.channels /= 3;
  OnnxNumbers shape = x.extents();
  shape.insert(shape.begin(), 0);
  shape.push_back(grid.channels);
  layer.give({grid, x.axes(), layer.type(), OnnxLayout::points,
              graph.cast(graph.reshape(means, shape), OnnxType::float32, layer.type())});
  return true;
}

bool PositionsBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxNumbers dims = x.extents();
  dims.insert(dims.begin(), 1);
  dims.push_back(x.grid().channels);
  const std::string y =
      layer.graph.node("Add", {x.in(OnnxLayout::points, layer.graph), layer.parameter("weight", dims)});
  layer.give(x.with(layer.type(), OnnxLayout::points, y));
  return true;
}

}  // namespace mylos

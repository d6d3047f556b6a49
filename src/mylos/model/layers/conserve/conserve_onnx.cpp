// The numbers that are added are sums over all points, in float.
#include "mylos/model/layers/conserve/conserve_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool ConserveBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const GridShape grid = x.grid();
  const auto axes = static_cast<std::int64_t>(x.axes());
  const auto in_float = [&](OnnxBoundary& boundary) {
    return graph.cast(boundary.in(OnnxLayout::channels_first, graph), layer.type(), OnnxType::float32);
  };
  OnnxNumbers from(static_cast<std::size_t>(grid.channels), 0);
  // What each point of a channel adds of the difference; nothing of channels that stay as they are.
  std::vector<float> shares(static_cast<std::size_t>(grid.channels * options_.rows), 0);
  for (std::int64_t k = 0; k < options_.channels.count; ++k) {
    const std::int64_t channel = options_.channels.channel_of(k);
    from[static_cast<std::size_t>(channel)] = options_.channels.from_of(k);
    for (std::int64_t row = 0; row < options_.rows; ++row) {
      const double of_row = options_.row_weights.empty() ? 1.0 : static_cast<double>(weight(row));
      shares[static_cast<std::size_t>(channel * options_.rows + row)] = static_cast<float>(of_row / total_);
    }
  }
  const std::string own = in_float(x);
  std::string missing;
  if (options_.skip_channels > 0) {
    const std::string wanted =
        graph.node("Gather", {in_float(layer.skip()), graph.integers(from)}, {{"axis", std::int64_t{1}}});
    missing = graph.node("Sub", {wanted, own});
  } else {
    missing = graph.node("Neg", {own});
  }
  OnnxNumbers dims{1, grid.channels, options_.rows};
  dims.resize(static_cast<std::size_t>(2 + axes), 1);
  OnnxNumbers spatial;
  for (std::int64_t axis = 0; axis < axes; ++axis) spatial.push_back(2 + axis);
  const std::string weighted =
      graph.node("Mul", {missing, graph.numbers("shares", OnnxType::float32, dims, shares)});
  const std::string added =
      graph.node("ReduceSum", {weighted, graph.integers(spatial)}, {{"keepdims", std::int64_t{1}}});
  const std::string y = graph.cast(graph.node("Add", {own, added}), OnnxType::float32, layer.type());
  layer.give({grid, x.axes(), layer.type(), OnnxLayout::channels_first, y});
  return true;
}

}  // namespace mylos

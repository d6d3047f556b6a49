// All compute in float, whatever the layer's type, as ours do.
#include "mylos/model/layers/norm/batch_norm_block.hpp"
#include "mylos/model/layers/norm/group_norm_block.hpp"
#include "mylos/model/layers/norm/norm_block.hpp"
#include "mylos/model/onnx/onnx_norms.hpp"

namespace mylos {

bool NormBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  const std::string y = onnx_last_axis_norm(layer, options_.norm, "", x.in(OnnxLayout::points, layer.graph));
  layer.give(x.with(layer.type(), OnnxLayout::points, y));
  return true;
}

bool GroupNormBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const OnnxNumbers dims = per_channel(x.grid().channels, x.axes());
  const std::string y =
      in_float(layer, x.in(OnnxLayout::channels_first, graph), [&](const std::string& value) {
        const std::vector<float> ones(static_cast<std::size_t>(options_.groups), 1.0F);
        const std::vector<float> zeros(ones.size(), 0.0F);
        const std::string grouped = graph.reshape(
            value, {0, options_.groups, options_.grid.points() * (options_.grid.channels / options_.groups)});
        const std::string normed =
            graph.node("InstanceNormalization",
                       {grouped, graph.numbers("ones", OnnxType::float32, {options_.groups}, ones),
                        graph.numbers("zeros", OnnxType::float32, {options_.groups}, zeros)},
                       {{"epsilon", options_.epsilon}});
        OnnxNumbers shape = x.extents();
        shape.insert(shape.begin(), {0, options_.grid.channels});
        const std::string back = graph.reshape(normed, shape);
        const std::string scaled =
            graph.node("Mul", {back, layer.parameter("weight", dims, OnnxType::float32)});
        return graph.node("Add", {scaled, layer.parameter("bias", dims, OnnxType::float32)});
      });
  layer.give(x.with(layer.type(), OnnxLayout::channels_first, y));
  return true;
}

bool BatchNormBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const std::string y =
      in_float(layer, x.in(OnnxLayout::channels_first, graph), [&](const std::string& value) {
        const auto of = [&](const char* name) {
          return layer.parameter(name, {options_.grid.channels}, OnnxType::float32);
        };
        return graph.node("BatchNormalization",
                          {value, of("weight"), of("bias"), of("running_mean"), of("running_variance")},
                          {{"epsilon", options_.epsilon}});
      });
  layer.give(x.with(layer.type(), OnnxLayout::channels_first,
                    onnx_activation(graph, options_.activation, y, layer.type())));
  return true;
}

}  // namespace mylos

#include "mylos/model/layers/pool/pool_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool PoolBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const std::size_t axes = x.axes();
  std::string value = x.in(OnnxLayout::channels_first, graph);
  if (options_.pool == PoolType::global_average) {
    if (axes > 0) {
      value = graph.cast(value, layer.type(), OnnxType::float32);  // a sum over all points
      value = graph.reshape(graph.node("GlobalAveragePool", {value}), {0, output().channels});
      value = graph.cast(value, OnnxType::float32, layer.type());
    }
    layer.give({output(), 0, layer.type(), OnnxLayout::rows, value});
    return true;
  }
  std::vector<OnnxAttribute> attributes{{"kernel_shape", last_axes(options_.shape.window, axes)},
                                        {"strides", last_axes(options_.shape.stride, axes)},
                                        {"pads", both_ends(options_.shape.padding, axes)}};
  const bool takes_maximum = options_.pool == PoolType::max;
  if (!takes_maximum) attributes.push_back({"count_include_pad", std::int64_t{0}});
  value = graph.node(takes_maximum ? "MaxPool" : "AveragePool", {value}, std::move(attributes));
  layer.give({output(), axes, layer.type(), OnnxLayout::channels_first, value});
  return true;
}

}  // namespace mylos

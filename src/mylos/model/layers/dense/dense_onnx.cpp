#include "mylos/model/layers/dense/dense.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool Dense::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  const std::string z = layer.linear("", x.in(OnnxLayout::rows, layer.graph), 2);
  layer.give({GridShape{.channels = options_.outputs}, 0, layer.type(), OnnxLayout::rows,
              onnx_activation(layer.graph, options_.activation, z, layer.type())});
  return true;
}

}  // namespace mylos

#include "mylos/model/layers/activation/activation_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

bool ActivationBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  const std::string& value = x.in(x.layout(), layer.graph);
  layer.give(x.with(layer.type(), x.layout(),
                    onnx_activation(layer.graph, options_.activation, value, layer.type())));
  return true;
}

}  // namespace mylos

#include "mylos/model/layers/nonnegative/nonnegative_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

// In float: softplus of 16-bit numbers would be rounded in between.
bool NonnegativeBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const std::string own =
      graph.cast(x.in(OnnxLayout::channels_first, graph), layer.type(), OnnxType::float32);
  const char* const function = options_.form == NonnegativeForm::softplus ? "Softplus" : "Relu";
  OnnxNumbers dims{1, options_.channels};
  dims.resize(2 + x.axes(), 1);
  const std::string chosen = graph.node("Greater", {graph.numbers("chosen", OnnxType::float32, dims, chosen_),
                                                    graph.scalar(0, OnnxType::float32)});
  const std::string y = graph.node("Where", {chosen, graph.node(function, {own}), own});
  layer.give(
      x.with(layer.type(), OnnxLayout::channels_first, graph.cast(y, OnnxType::float32, layer.type())));
  return true;
}

}  // namespace mylos

#include "mylos/model/layers/upsample/upsample_block.hpp"
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
  const std::string value = graph.node("Resize",
                                       {x.in(OnnxLayout::channels_first, graph), "",
                                        graph.numbers("scales", OnnxType::float32, {count}, scales)},
                                       std::move(attributes));
  layer.give({output(), x.axes(), layer.type(), OnnxLayout::channels_first, value});
  return true;
}

}  // namespace mylos

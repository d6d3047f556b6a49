#include "mylos/model/onnx/onnx_norms.hpp"

namespace mylos {
namespace {

std::string layer_normalization(OnnxLayer& layer, const Norm& norm, const std::string& group,
                                const std::string& x) {
  constexpr std::int64_t first = 17;
  layer.graph.require_opset(first, "LayerNormalization");
  const auto of = [&](const char* name) {
    return layer.parameter(parameter_name(group, name), {norm.width}, OnnxType::float32);
  };
  std::vector<std::string> inputs{x, of("weight")};
  if (norm.has_bias()) inputs.push_back(of("bias"));
  return layer.graph.node("LayerNormalization", std::move(inputs),
                          {{"axis", std::int64_t{-1}}, {"epsilon", norm.epsilon}});
}

/// ONNX has an operator for it from opset 23 on.
std::string rms_normalization(OnnxLayer& layer, const Norm& norm, const std::string& group,
                              const std::string& x) {
  OnnxBuilder& graph = layer.graph;
  const std::string mean = graph.mean(graph.node("Mul", {x, x}), {-1});
  const std::string shifted = graph.node("Add", {mean, graph.scalar(norm.epsilon, OnnxType::float32)});
  const std::string normed = graph.node("Div", {x, graph.node("Sqrt", {shifted})});
  return graph.node(
      "Mul", {normed, layer.parameter(parameter_name(group, "weight"), {norm.width}, OnnxType::float32)});
}

}  // namespace

std::string in_float(OnnxLayer& layer, const std::string& x,
                     const std::function<std::string(const std::string&)>& nodes) {
  const std::string result = nodes(layer.graph.cast(x, layer.type(), OnnxType::float32));
  return layer.graph.cast(result, OnnxType::float32, layer.type());
}

std::string onnx_last_axis_norm(OnnxLayer& layer, const Norm& norm, const std::string& group,
                                const std::string& x) {
  return in_float(layer, x, [&](const std::string& value) {
    return norm.type == NormType::rmsnorm ? rms_normalization(layer, norm, group, value)
                                          : layer_normalization(layer, norm, group, value);
  });
}

}  // namespace mylos

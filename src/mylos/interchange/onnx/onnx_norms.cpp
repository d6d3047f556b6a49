#include "mylos/interchange/onnx/onnx_norms.hpp"

#include <functional>

namespace mylos {
namespace {

/// Computes in float what `nodes` computes of a value of the layer's type.
std::string in_float(OnnxLayer& layer, const std::string& x,
                     const std::function<std::string(const std::string&)>& nodes) {
  const std::string result = nodes(layer.graph.cast(x, layer.type(), OnnxType::float32));
  return layer.graph.cast(result, OnnxType::float32, layer.type());
}

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

std::string onnx_last_axis_norm(OnnxLayer& layer, const Norm& norm, const std::string& group,
                                const std::string& x) {
  return in_float(layer, x, [&](const std::string& value) {
    return norm.type == NormType::rmsnorm ? rms_normalization(layer, norm, group, value)
                                          : layer_normalization(layer, norm, group, value);
  });
}

OnnxBoundary onnx_norm(OnnxLayer& layer, const NormOptions& options, OnnxBoundary& x) {
  const std::string y = onnx_last_axis_norm(layer, options.norm, "", x.in(OnnxLayout::points, layer.graph));
  return x.with(layer.type(), OnnxLayout::points, y);
}

OnnxBoundary onnx_group_norm(OnnxLayer& layer, const GroupNormOptions& options, OnnxBoundary& x) {
  OnnxBuilder& graph = layer.graph;
  const OnnxNumbers dims = per_channel(x.grid().channels, x.axes());
  const std::string y =
      in_float(layer, x.in(OnnxLayout::channels_first, graph), [&](const std::string& value) {
        const std::vector<float> ones(static_cast<std::size_t>(options.groups), 1.0F);
        const std::vector<float> zeros(ones.size(), 0.0F);
        const std::string grouped = graph.reshape(
            value, {0, options.groups, options.grid.points() * (options.grid.channels / options.groups)});
        const std::string normed =
            graph.node("InstanceNormalization",
                       {grouped, graph.numbers("ones", OnnxType::float32, {options.groups}, ones),
                        graph.numbers("zeros", OnnxType::float32, {options.groups}, zeros)},
                       {{"epsilon", options.epsilon}});
        OnnxNumbers shape = x.extents();
        shape.insert(shape.begin(), {0, options.grid.channels});
        const std::string back = graph.reshape(normed, shape);
        const std::string scaled =
            graph.node("Mul", {back, layer.parameter("weight", dims, OnnxType::float32)});
        return graph.node("Add", {scaled, layer.parameter("bias", dims, OnnxType::float32)});
      });
  return x.with(layer.type(), OnnxLayout::channels_first, y);
}

OnnxBoundary onnx_batch_norm(OnnxLayer& layer, const BatchNormOptions& options, OnnxBoundary& x) {
  OnnxBuilder& graph = layer.graph;
  const std::string y =
      in_float(layer, x.in(OnnxLayout::channels_first, graph), [&](const std::string& value) {
        const auto of = [&](const char* name) {
          return layer.parameter(name, {options.grid.channels}, OnnxType::float32);
        };
        return graph.node("BatchNormalization",
                          {value, of("weight"), of("bias"), of("running_mean"), of("running_variance")},
                          {{"epsilon", options.epsilon}});
      });
  return x.with(layer.type(), OnnxLayout::channels_first,
                onnx_activation(graph, options.activation, y, layer.type()));
}

}  // namespace mylos

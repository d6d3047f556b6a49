#include "mylos/model/onnx/onnx_layer.hpp"

#include <cmath>
#include <numbers>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/model/block/transpose.hpp"

namespace mylos {
namespace {

/// x (1 + inner) / 2
std::string half_gate(OnnxBuilder& graph, const std::string& x, const std::string& inner, OnnxType type) {
  const std::string sum = graph.node("Add", {inner, graph.scalar(1, type)});
  return graph.node("Mul", {graph.node("Mul", {x, graph.scalar(0.5F, type)}), sum});
}

/// Opset 20 has Gelu, which would be the same nodes.
std::string exact_gelu(OnnxBuilder& graph, const std::string& x, OnnxType type) {
  constexpr auto factor = static_cast<float>(1 / std::numbers::sqrt2);
  const std::string scaled = graph.node("Mul", {x, graph.scalar(factor, type)});
  return half_gate(graph, x, graph.node("Erf", {scaled}), type);
}

std::string tanh_gelu(OnnxBuilder& graph, const std::string& x, OnnxType type) {
  const auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  const std::string square = graph.node("Mul", {x, x});
  // x (1 + 0.044715 x²): x³ itself would be beyond half for x above 40
  const std::string series =
      graph.node("Add", {graph.node("Mul", {square, graph.scalar(0.044715F, type)}), graph.scalar(1, type)});
  const std::string inner = graph.node("Mul", {graph.node("Mul", {x, graph.scalar(factor, type)}), series});
  return half_gate(graph, x, graph.node("Tanh", {inner}), type);
}

}  // namespace

const ParameterSpec* OnnxLayer::find(const std::string& parameter) const {
  for (const ParameterSpec& spec : parameters_) {
    if (spec.name == parameter) return &spec;
  }
  return nullptr;
}

OnnxBoundary& OnnxLayer::in_type(Input& input) {
  if (input.boundary->type() == type()) return *input.boundary;
  if (!input.cast) input.cast = input.boundary->cast(type(), graph);
  return *input.cast;
}

std::string OnnxLayer::linear(const std::string& group, const std::string& x, std::size_t rank) {
  const std::string weight = parameter_name(group, "weight");
  const std::string bias = parameter_name(group, "bias");
  const ParameterSpec* const spec = find(weight);
  if (spec == nullptr) fail_run(errors::internal, "layer {} has no parameter {}", name(), weight);
  if (rank == 2) {  // Gemm is for matrices alone
    std::vector<std::string> inputs{x, parameter(weight, {spec->rows, spec->columns})};
    if (has(bias)) inputs.push_back(parameter(bias, {spec->rows}));
    return graph.node("Gemm", std::move(inputs), {{"transB", std::int64_t{1}}});
  }
  const std::vector<float> transposed = transpose(values(weight), spec->rows, spec->columns);
  const std::string product =
      graph.node("MatMul", {x, graph.numbers(weight, type(), {spec->columns, spec->rows}, transposed)});
  return has(bias) ? graph.node("Add", {product, parameter(bias, {spec->rows})}) : product;
}

std::string onnx_activation(OnnxBuilder& graph, Activation activation, const std::string& x, OnnxType type) {
  switch (activation) {
    case Activation::relu:
      return graph.node("Relu", {x});
    case Activation::gelu:
      return exact_gelu(graph, x, type);
    case Activation::gelu_tanh:
      return tanh_gelu(graph, x, type);
    case Activation::tanh:
      return graph.node("Tanh", {x});
    case Activation::silu:
      return graph.node("Mul", {x, graph.node("Sigmoid", {x})});
    case Activation::none:
      break;
  }
  return x;
}

}  // namespace mylos

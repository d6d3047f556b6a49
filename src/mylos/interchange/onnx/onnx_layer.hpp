// OnnxLayer: one stage of a chain on its way into a graph: its parameters, and its nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/interchange/onnx/onnx_boundary.hpp"
#include "mylos/model/block/block.hpp"

namespace mylos {

/// Returns all numbers of a weight ("hidden1/weight") or of a statistic of a norm ("norm1/running_mean").
using ReadOnnxWeight = std::function<std::vector<float>(const std::string& path)>;

/// Returns the type in a graph of what a network computes in `type`: float16 for fp16; ONNX's operators know
/// bfloat16 in part only, so that bf16 layers compute in float.
[[nodiscard]] constexpr OnnxType onnx_type_of(DType type) {
  return type == DType::fp16 ? OnnxType::float16 : OnnxType::float32;
}

class OnnxLayer {
 public:
  /// `parameters`: of the stage.
  OnnxLayer(OnnxBuilder& builder, const ReadOnnxWeight& read, const Signature& signature,
            std::vector<ParameterSpec> parameters)
      : graph(builder), read_(read), signature_(signature), parameters_(std::move(parameters)) {}

  OnnxBuilder& graph;

  [[nodiscard]] const std::string& name() const { return signature_.name; }
  /// Returns the type in which the stage computes.
  [[nodiscard]] OnnxType type() const { return onnx_type_of(signature_.compute_type); }
  [[nodiscard]] bool has(const std::string& parameter) const { return find(parameter) != nullptr; }
  [[nodiscard]] std::vector<float> values(const std::string& parameter) const {
    return read_(name() + "/" + parameter);
  }
  /// Adds a parameter as a constant of these dimensions, by default in the layer's type.
  std::string parameter(const std::string& parameter, const OnnxNumbers& dims) {
    return this->parameter(parameter, dims, type());
  }
  std::string parameter(const std::string& parameter, const OnnxNumbers& dims, OnnxType type) {
    return graph.numbers(parameter, type, dims, values(parameter));
  }

  /// Computes x·Wᵀ + b over the last axis of a value of `rank` axes, by the parameters of a group ("qkv"; "":
  /// "weight" and "bias").
  std::string linear(const std::string& group, const std::string& x, std::size_t rank);

 private:
  [[nodiscard]] const ParameterSpec* find(const std::string& parameter) const;

  const ReadOnnxWeight& read_;
  const Signature& signature_;
  std::vector<ParameterSpec> parameters_;
};

/// Return the nodes' output; `type`: of x.
std::string onnx_activation(OnnxBuilder& graph, Activation activation, const std::string& x, OnnxType type);

}  // namespace mylos

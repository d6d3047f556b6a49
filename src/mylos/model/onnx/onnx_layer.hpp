// OnnxLayer: one stage of a chain on its way into a graph: its parameters, and its nodes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mylos/kernels/options.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/onnx/onnx_boundary.hpp"

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
  /// `parameters`: of the stage. `x`, `skip`: the boundaries that it reads; null: none.
  OnnxLayer(OnnxBuilder& builder, const ReadOnnxWeight& read, const Signature& signature,
            std::vector<ParameterSpec> parameters, OnnxBoundary* x = nullptr, OnnxBoundary* skip = nullptr)
      : graph(builder),
        read_(read),
        signature_(signature),
        parameters_(std::move(parameters)),
        x_{x, {}},
        skip_{skip, {}} {}

  OnnxBuilder& graph;

  [[nodiscard]] const std::string& name() const { return signature_.name; }
  /// Returns the type in which the stage computes.
  [[nodiscard]] OnnxType type() const { return onnx_type_of(signature_.compute_type); }
  /// Return the boundaries that the stage reads, in its type. One that has it is returned itself, so that it
  /// keeps the layouts that this layer asks for.
  [[nodiscard]] OnnxBoundary& x() { return in_type(x_); }
  [[nodiscard]] OnnxBoundary& skip() { return in_type(skip_); }
  [[nodiscard]] const OnnxBoundary& skip_as_it_is() const { return *skip_.boundary; }
  /// Sets and returns the stage's output.
  void give(OnnxBoundary output) { output_ = std::move(output); }
  [[nodiscard]] OnnxBoundary take_output() { return std::move(output_); }

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
  struct Input {
    OnnxBoundary* boundary;
    std::optional<OnnxBoundary> cast;  // to the layer's type, from the first use on
  };
  OnnxBoundary& in_type(Input& input);
  [[nodiscard]] const ParameterSpec* find(const std::string& parameter) const;

  const ReadOnnxWeight& read_;
  const Signature& signature_;
  std::vector<ParameterSpec> parameters_;
  Input x_;
  Input skip_;
  OnnxBoundary output_;
};

/// Return the nodes' output; `type`: of x.
std::string onnx_activation(OnnxBuilder& graph, Activation activation, const std::string& x, OnnxType type);

}  // namespace mylos

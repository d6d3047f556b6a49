// Finds activation functions among elementwise nodes.
//
// Exporters write one function in many ways: GELU as x/2 (1 + erf(x/√2)), as x (erf(...) + 1) 0.5, with Pow
// or with products. So nodes are not compared with patterns: each group of elementwise nodes that computes
// one value from one other is evaluated at sample points, in double, and compared there with the functions
// that Mylos has.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// The operator of the nodes that replace a group; its attribute "function" has the name.
inline constexpr const char* activation_op = "mylos.Activation";

/// Returns "relu", "gelu", "gelu_tanh", "tanh", "silu", "sigmoid" or "identity", or nothing for another
/// function.
[[nodiscard]] std::optional<std::string> named_function(const std::function<double(double)>& function);

/// Returns the graph with a node for each function that is found. `graph`: in order, constants folded.
[[nodiscard]] ForeignGraph with_activations(ForeignGraph graph);

}  // namespace mylos

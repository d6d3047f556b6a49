// Nodes whose inputs are constants, such as the shapes that exporters compute of other shapes.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// The number of samples in a shape that a graph computes. It passes through what copies numbers; arithmetic
/// with it is not folded.
inline constexpr std::int64_t batch_extent = std::numeric_limits<std::int64_t>::min();

/// Returns what the node computes of these constants (null for an input that is left out); nothing for an
/// operator that is not folded, or for operands that do not fit it. Results have at most as many numbers as
/// the operands together, or 65536.
[[nodiscard]] std::optional<ForeignTensor> folded(const ForeignNode& node,
                                                  const std::vector<const ForeignTensor*>& inputs);

/// Returns the graph with the results of all nodes of constants as constants. `graph`: in order.
[[nodiscard]] ForeignGraph with_constants_folded(ForeignGraph graph);

}  // namespace mylos

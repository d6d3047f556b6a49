// Constants that only masks and counts of tokens are made of: ranges, comparisons, triangles.
#pragma once

#include <optional>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// Returns what Range, Trilu, Expand, Where, Mod, a comparison, or a logical operator computes of these
/// constants; nothing for another operator, for operands that do not fit it, or for more than 2^22 numbers.
[[nodiscard]] std::optional<ForeignTensor> folded_mask(const ForeignNode& node,
                                                       const std::vector<const ForeignTensor*>& inputs);

}  // namespace mylos

// Elements of constants: those at given indices, and those that Slice takes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// Returns the axis, which counts from the end if it is negative; nothing if there is no such axis.
[[nodiscard]] std::optional<std::size_t> folded_axis(std::int64_t axis, std::size_t rank);

/// Returns a tensor of the elements at these indices of another.
[[nodiscard]] ForeignTensor picked(const ForeignTensor& from, OnnxNumbers dims,
                                   const std::vector<std::size_t>& indices);

/// Returns what Slice takes of a constant, with steps of 1 and -1; nothing for other steps or operands.
[[nodiscard]] std::optional<ForeignTensor> sliced(const std::vector<const ForeignTensor*>& inputs);

}  // namespace mylos

// The shapes of operands of elementwise operators, as ONNX and NumPy broadcast them.
#pragma once

#include <cstddef>
#include <optional>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// Returns the number of elements, or nothing beyond `max`.
[[nodiscard]] std::optional<std::int64_t> elements_of(const OnnxNumbers& dims, std::int64_t max);

/// Returns the shape of two operands of an elementwise operator, or nothing if they do not fit.
[[nodiscard]] std::optional<OnnxNumbers> broadcast(const OnnxNumbers& a, const OnnxNumbers& b);
/// Returns the index of the element of an operand of shape `dims` that element `i` of the result reads.
[[nodiscard]] std::size_t broadcast_index(const OnnxNumbers& result, const OnnxNumbers& dims, std::size_t i);

}  // namespace mylos

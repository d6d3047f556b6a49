// The refusal of a node: which one, by its operator and name, and what would be right.
#pragma once

#include <fmt/format.h>

#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// "net.onnx: node '/conv1/Conv' (Conv)"
[[nodiscard]] inline std::string describe(const ForeignGraph& graph, const ForeignNode& node) {
  return fmt::format("{}: node '{}' ({})", graph.file, printable(node.name), printable(node.op));
}

/// Throws Error (bad_input, unsupported-feature).
template <class... Arguments>
[[noreturn]] void refuse_node(const ForeignGraph& graph, const ForeignNode& node,
                              fmt::format_string<Arguments...> format, Arguments&&... of) {
  fail_input(errors::unsupported_feature, "{} {}", describe(graph, node),
             fmt::format(format, std::forward<Arguments>(of)...));
}

}  // namespace mylos

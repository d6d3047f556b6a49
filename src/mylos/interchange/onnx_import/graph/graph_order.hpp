// The nodes of a foreign graph in the order of their computation, and how often each value is read.
#pragma once

#include <map>
#include <string>

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// Returns the graph with the nodes on which its outputs depend, each after those that it reads. Throws Error
/// (bad_input, damaged) for a cycle, a value that nothing computes, and one that two nodes compute.
[[nodiscard]] ForeignGraph in_order(ForeignGraph graph);

/// Returns the number of inputs of nodes, and of outputs of the graph, that read each value.
[[nodiscard]] std::map<std::string, int> count_uses(const ForeignGraph& graph);

/// Returns the index of the node that computes each value.
[[nodiscard]] std::map<std::string, std::size_t> producers_of(const ForeignGraph& graph);

/// Returns the graph without nodes that change nothing: Identity, Dropout, and Cast between types of real
/// numbers.
[[nodiscard]] ForeignGraph without_identities(ForeignGraph graph);

}  // namespace mylos

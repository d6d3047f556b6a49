// Finds the normalisation of the last axis that older opsets write as means, squares and a root.
#pragma once

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// The operator of the nodes that replace a normalisation without its scale and shift. Attributes:
/// "subtracts" (1: of the mean, as layer normalisation; 0: as RMS normalisation), "epsilon", and "axes".
inline constexpr const char* root_norm_op = "mylos.RootNorm";

/// Returns the graph with such nodes for (x - mean(x)) / sqrt(mean((x - mean(x))²) + epsilon), and the same
/// without the means. `graph`: in order, constants folded.
[[nodiscard]] ForeignGraph with_root_norms(ForeignGraph graph);

}  // namespace mylos

// What the outputs of a graph are to a network with one output: probabilities beside the labels of classes,
// and means beside their standard deviations.
#pragma once

#include "mylos/interchange/onnx/foreign_graph.hpp"

namespace mylos {

/// The operator of the node that replaces the two probabilities [1 - sigmoid(z), sigmoid(z)]. It reads z.
inline constexpr const char* two_classes_op = "mylos.TwoClasses";

/// The operator of the node that replaces both outputs of a network that states its uncertainty: it reads
/// [means, log variances] and gives the means. Attributes: "axis" and "means", and "deviation", the name of
/// the constant that multiplies the deviations, if there is one.
inline constexpr const char* means_op = "mylos.Means";

/// Returns the graph without outputs of integers and text, if one of real numbers remains, and with the
/// probabilities that scikit-learn's ZipMap gives as a map. The nodes may be in any order.
[[nodiscard]] ForeignGraph with_numbers_alone(ForeignGraph graph);

/// Returns the graph with a node for each pair of probabilities. `graph`: constants folded.
[[nodiscard]] ForeignGraph with_two_classes(ForeignGraph graph);

/// Returns the graph with the means as its output if its other output is exp(s / 2), times constants, of the
/// second half s of what the means are the first half of. `graph`: in order, constants folded.
[[nodiscard]] ForeignGraph with_means_alone(ForeignGraph graph);

}  // namespace mylos

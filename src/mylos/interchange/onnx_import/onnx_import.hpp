// A foreign ONNX graph as a network of ours: its layers, their weights, and the scaling of inputs and
// outputs.
//
//   in order, without what outputs do not need        graph_order
//   constants computed, Identity and Dropout dropped  constant_folding, graph_order
//   one output: without labels, deviations            output_matching
//   norms and functions found                         transpose_sinking, norm_matching, activation_matching
//   each node as a layer                              importer, import_*.cpp
//
// docs/how-to/onnx.md is the users' page.
#pragma once

#include <string>
#include <vector>

#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/interchange/onnx/foreign_graph.hpp"
#include "mylos/interchange/onnx_import/imported_chain.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ImportedNetwork {
  ModelOptions model;              // a chain with its sizes; the loss follows from what the outputs are
  Normalizer normalizer;           // what the graph subtracts and multiplies at its ends
  NumberedWeights weights;         // of every parameter and statistic, in our layout
  std::vector<std::string> notes;  // for the user, a line each
};

/// Throws Error (bad_input): unsupported-feature for what Mylos does not have, with the node's operator, name
/// and shape; damaged for graphs and weights that contradict themselves; not-finite for numbers that are not.
[[nodiscard]] ImportedNetwork import_onnx(ForeignGraph graph);

}  // namespace mylos

// A foreign ONNX graph of tokens as a GPT of ours: those that `mylos export` writes, and PyTorch's of the
// same layers.
//
//   axes of arrays while heads are split and merged   gpt/token_axes
//   nodes as norms, matrices, attention, sums         gpt/token_network
//   these as the layers of a GPT                      gpt_import
#pragma once

#include <cstdint>

#include "mylos/interchange/onnx/foreign_graph.hpp"
#include "mylos/interchange/onnx_import/imported_chain.hpp"
#include "mylos/model/options.hpp"

namespace mylos {

struct ImportedGpt {
  ModelOptions model;
  std::int64_t vocabulary = 0;  // tokens; the model's own may be padded
  NumberedWeights weights;
};

/// Returns whether the graph reads tokens: integers [batch, tokens].
[[nodiscard]] bool reads_tokens(const ForeignGraph& graph);

/// Throws Error (bad_input): unsupported-feature for what a GPT of Mylos has not, damaged for graphs that
/// contradict themselves.
[[nodiscard]] ImportedGpt import_gpt(ForeignGraph graph);

}  // namespace mylos

// A GPT as nodes of a graph: tokens int64 [batch, tokens] in, logits float32 [batch, tokens, vocabulary] out,
// for any number of tokens up to the context.
#pragma once

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

/// Appends the nodes of all blocks and of the head, and returns the logits, in float32. `known`: the number
/// of tokens of the vocabulary; logits of the padding after them are left out.
[[nodiscard]] std::string onnx_gpt(OnnxBuilder& graph, const ModelOptions& model, const Chain& chain,
                                   const ReadOnnxWeight& read, const std::string& tokens, std::int64_t known);

}  // namespace mylos

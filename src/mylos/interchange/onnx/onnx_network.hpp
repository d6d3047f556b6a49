// The network of a checkpoint as an ONNX graph: what `mylos predict` computes, for any batch.
//
// Input "inputs", float32 [batch, inputs] or [batch, extents, channels], in the data's units, as samples lie
// in files; output "outputs", float32: targets in their own units, or probabilities. A GPT's are "tokens",
// int64 [batch, tokens], and "logits", float32 [batch, tokens, vocabulary]. docs/how-to/onnx.md is the users'
// page.
#pragma once

#include "mylos/base/dtype.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"

namespace mylos {

struct OnnxOptions {
  DType type =
      DType::fp32;  // or fp16: of weights and arithmetic; layers that the deck's rules name keep fp32
  std::int64_t opset = default_onnx_opset;
  StoredWeights weights = StoredWeights::current;
};

/// The bytes of weights in one file: protobuf ends at 2 GiB; the rest is for nodes and scaling.
inline constexpr std::int64_t max_onnx_bytes = (std::int64_t{1} << 31) - (std::int64_t{1} << 26);

struct OnnxModel {
  OnnxGraph graph;
  std::int64_t weights = 0;       // number of them
  std::int64_t weight_bytes = 0;  // in the graph
};

/// For one rank. Sizes are checked before weights are read. Throws Error: bad_input if the checkpoint
/// contradicts itself, has no average that is wanted, has a weight that the type cannot hold, is larger than
/// max_onnx_bytes, or has a layer that the opset lacks; does_not_fit if the host has not the memory.
[[nodiscard]] OnnxModel make_onnx_model(const CheckpointReader& checkpoint, const OnnxOptions& options);

/// Returns the graph without metadata of a network with these weights. `network.chain` computes in the types
/// of the graph.
[[nodiscard]] OnnxGraph onnx_graph_of(const StoredNetwork& network, std::int64_t opset,
                                      const std::function<std::vector<float>(const std::string&)>& read);

}  // namespace mylos

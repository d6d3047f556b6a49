// The blocks of a network of numbers as nodes of a graph: mlp, chain, cnn, resnet, unet.
#pragma once

#include "mylos/model/chain/chain.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

/// Appends the nodes of all blocks and returns their output. `input`: the chain's input, scaled. Throws Error
/// (bad_input), which names the layer, if the graph's opset lacks what a layer needs, or if graphs have no
/// nodes for it.
[[nodiscard]] OnnxBoundary onnx_blocks(OnnxBuilder& graph, const Chain& chain, const ReadOnnxWeight& read,
                                       OnnxBoundary input);

}  // namespace mylos

// Normalisation layers as nodes of a graph. All compute in float, whatever the layer's type, as ours do.
#pragma once

#include "mylos/interchange/onnx/onnx_layer.hpp"
#include "mylos/model/grid/batch_norm_block.hpp"
#include "mylos/model/grid/group_norm_block.hpp"
#include "mylos/model/layers/norm_block.hpp"

namespace mylos {

/// Normalises the last axis of x, which has the layer's type, by the parameters of a group ("norm"; "":
/// "weight" and "bias"). LayerNormalization throws Error (bad_input) below opset 17.
std::string onnx_last_axis_norm(OnnxLayer& layer, const Norm& norm, const std::string& group,
                                const std::string& x);

/// x has the layer's type.
OnnxBoundary onnx_norm(OnnxLayer& layer, const NormOptions& options, OnnxBoundary& x);
OnnxBoundary onnx_group_norm(OnnxLayer& layer, const GroupNormOptions& options, OnnxBoundary& x);
/// By the running mean and variance, with the activation that follows.
OnnxBoundary onnx_batch_norm(OnnxLayer& layer, const BatchNormOptions& options, OnnxBoundary& x);

}  // namespace mylos

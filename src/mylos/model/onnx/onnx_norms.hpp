// Normalisation layers as nodes of a graph. All compute in float, whatever the layer's type, as ours do.
#pragma once

#include <functional>

#include "mylos/model/block/norm.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {

/// Normalises the last axis of x, which has the layer's type, by the parameters of a group ("norm"; "":
/// "weight" and "bias"). LayerNormalization throws Error (bad_input) below opset 17.
std::string onnx_last_axis_norm(OnnxLayer& layer, const Norm& norm, const std::string& group,
                                const std::string& x);

/// Computes in float what `nodes` computes of a value of the layer's type.
std::string in_float(OnnxLayer& layer, const std::string& x,
                     const std::function<std::string(const std::string&)>& nodes);

}  // namespace mylos

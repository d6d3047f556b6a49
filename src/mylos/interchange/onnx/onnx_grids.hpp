// Layers on grids as nodes of a graph: convolutions, pools and upsampling, channels first.
#pragma once

#include "mylos/interchange/onnx/onnx_layer.hpp"
#include "mylos/model/grid/convolution_block.hpp"
#include "mylos/model/grid/pool_block.hpp"
#include "mylos/model/grid/upsample_block.hpp"

namespace mylos {

/// x has the layer's type. ONNX pads with zeros alone: edges of other kinds are nodes before a convolution,
/// and after a transposed one.
OnnxBoundary onnx_convolution(OnnxLayer& layer, const ConvolutionOptions& options, OnnxBoundary& x);
OnnxBoundary onnx_pool(OnnxLayer& layer, const PoolBlock& pool, OnnxBoundary& x);
OnnxBoundary onnx_upsampling(OnnxLayer& layer, const UpsampleBlock& upsample, OnnxBoundary& x);

}  // namespace mylos

// The layers of Fourier neural operators as nodes of a graph: spectral convolutions, coordinates, margins and
// gated additions, channels first.
#pragma once

#include "mylos/interchange/onnx/onnx_layer.hpp"
#include "mylos/kernels/spectral/spectral_shape.hpp"
#include "mylos/model/grid/margin_block.hpp"

namespace mylos {

/// Computes the transforms as products with constant matrices, in float whatever the layer's type: first
/// along each axis with its cos and sin, then from these real coefficients to the modes' complex ones.
OnnxBoundary onnx_spectral(OnnxLayer& layer, const SpectralShape& shape, OnnxBoundary& x);
/// Appends the positions, p / n along each axis, to the channels.
OnnxBoundary onnx_coordinates(OnnxLayer& layer, OnnxBoundary& x);
OnnxBoundary onnx_margins(OnnxLayer& layer, const MarginOptions& options, OnnxBoundary& x);
/// Returns x + weight · skip.
OnnxBoundary onnx_gated_add(OnnxLayer& layer, OnnxBoundary& x, OnnxBoundary& skip);

}  // namespace mylos

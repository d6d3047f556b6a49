// The scaling of inputs and targets as nodes of a graph, in float.
//
// Ours computes (x - shift) scale in double. The graph subtracts shift as the sum of two floats, so that a
// small spread around a large mean loses nothing: x minus the first is exact where both are close.
#pragma once

#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/onnx/onnx_boundary.hpp"

namespace mylos {

/// Returns the boundary scaled as training scaled its inputs. Throws Error (bad_input) if float cannot hold a
/// number of the scaling. `path`: of the checkpoint, for messages.
[[nodiscard]] OnnxBoundary onnx_scaled(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary x,
                                       const std::string& path);
/// Returns the boundary in the targets' units.
[[nodiscard]] OnnxBoundary onnx_unscaled(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary y,
                                         const std::string& path);
/// Returns the standard deviations, in the targets' units, of log variances s in those of training: e^(s / 2)
/// times the scale of the target.
[[nodiscard]] OnnxBoundary onnx_deviations(OnnxBuilder& graph, const ColumnScaling& scaling, OnnxBoundary s,
                                           const std::string& path);

}  // namespace mylos

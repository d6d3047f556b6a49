// The points beyond the edges of a grid as nodes: slices that are joined to it, and their adjoint. A pole is
// the reversed rows of the opposite meridian.
#pragma once

#include "mylos/kernels/grid/padding_kinds.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"

namespace mylos {

/// Returns a value of channels first, with the points beyond the edges of its grid. `axes`: of the grid,
/// which uses the last ones of its three.
[[nodiscard]] std::string with_edges(OnnxBuilder& graph, const GridEdges& edges, std::string x, OnnxType type,
                                     std::size_t axes);

/// Returns the grid of a value that has such points, which are added to those that they stand for.
[[nodiscard]] std::string folded_edges(OnnxBuilder& graph, const GridEdges& edges, std::string x,
                                       OnnxType type, std::size_t axes);

}  // namespace mylos

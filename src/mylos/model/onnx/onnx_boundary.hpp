// OnnxBoundary: a boundary of a chain as values of a graph, in the layouts that its readers want.
//
// A layout is computed where it is first wanted and then kept, so that layers that read the same boundary
// share it, and convolutions in sequence stay channels first.
#pragma once

#include <array>
#include <string>

#include "mylos/kernels/grid/grid_shape.hpp"
#include "mylos/model/onnx/onnx_builder.hpp"

namespace mylos {

enum class OnnxLayout {
  rows,            // [batch, columns]
  points,          // [batch, extents, channels], as samples lie in files
  channels_first,  // [batch, channels, extents], which ONNX's operators on grids read
};

/// Returns the numbers of a grid's axes: the last `axes` of the three that kernels have.
[[nodiscard]] OnnxNumbers last_axes(const Extents& numbers, std::size_t axes);
/// Returns them twice, for both ends of each axis: the attribute "pads".
[[nodiscard]] OnnxNumbers both_ends(const Extents& padding, std::size_t axes);
/// Returns [channels, 1 ...]: the dimensions of one number per channel of a value with channels first.
[[nodiscard]] OnnxNumbers per_channel(std::int64_t channels, std::size_t axes);

class OnnxBoundary {
 public:
  OnnxBoundary() = default;
  /// `axes`: of the grid, which uses the last ones of its three; 0: a vector, which has rows alone.
  OnnxBoundary(const GridShape& grid, std::size_t axes, OnnxType type, OnnxLayout layout, std::string value);

  [[nodiscard]] const GridShape& grid() const { return grid_; }
  [[nodiscard]] std::size_t axes() const { return axes_; }
  [[nodiscard]] OnnxType type() const { return type_; }
  /// Returns the layout that was computed first.
  [[nodiscard]] OnnxLayout layout() const { return layout_; }
  /// Returns the last `axes` of the grid's extents.
  [[nodiscard]] OnnxNumbers extents() const;
  /// Returns the value in this layout; appends nodes for a new one.
  const std::string& in(OnnxLayout layout, OnnxBuilder& graph);
  /// Returns the boundary in another type, in the layout that was computed first.
  [[nodiscard]] OnnxBoundary cast(OnnxType type, OnnxBuilder& graph);
  /// Returns a boundary of the same grid.
  [[nodiscard]] OnnxBoundary with(OnnxType type, OnnxLayout layout, std::string value) const;

 private:
  GridShape grid_;
  std::size_t axes_ = 0;
  OnnxType type_ = OnnxType::float32;
  OnnxLayout layout_ = OnnxLayout::rows;
  std::array<std::string, 3> values_;  // by layout; "": not computed
};

}  // namespace mylos

#include "mylos/model/onnx/onnx_boundary.hpp"

#include <utility>

namespace mylos {
namespace {

std::size_t index_of(OnnxLayout layout) {
  return static_cast<std::size_t>(layout);
}

/// Returns [0, 1 ... axes] with the channels moved: from the end to place 1, or back.
OnnxNumbers channel_permutation(std::size_t axes, bool to_front) {
  const auto count = static_cast<std::int64_t>(axes);
  OnnxNumbers order{0};
  if (to_front) order.push_back(count + 1);
  for (std::int64_t axis = 0; axis < count; ++axis) order.push_back(axis + (to_front ? 1 : 2));
  if (!to_front) order.push_back(1);
  return order;
}

}  // namespace

OnnxNumbers last_axes(const Extents& numbers, std::size_t axes) {
  return {numbers.end() - static_cast<std::ptrdiff_t>(axes), numbers.end()};
}

OnnxNumbers both_ends(const Extents& padding, std::size_t axes) {
  OnnxNumbers pads = last_axes(padding, axes);
  pads.insert(pads.end(), pads.begin(), pads.end());
  return pads;
}

OnnxNumbers per_channel(std::int64_t channels, std::size_t axes) {
  OnnxNumbers dims(axes + 1, 1);
  dims.front() = channels;
  return dims;
}

OnnxBoundary::OnnxBoundary(const GridShape& grid, std::size_t axes, OnnxType type, OnnxLayout layout,
                           std::string value)
    : grid_(grid), axes_(axes), type_(type), layout_(axes == 0 ? OnnxLayout::rows : layout) {
  values_[index_of(layout_)] = std::move(value);
}

OnnxNumbers OnnxBoundary::extents() const {
  return last_axes(grid_.extent, axes_);
}

const std::string& OnnxBoundary::in(OnnxLayout layout, OnnxBuilder& graph) {
  std::string& wanted = values_[index_of(axes_ == 0 ? OnnxLayout::rows : layout)];
  if (!wanted.empty()) return wanted;
  if (layout == OnnxLayout::rows) {
    wanted = graph.reshape(in(OnnxLayout::points, graph), {0, grid_.columns()});
  } else if (layout == OnnxLayout::channels_first) {
    wanted = graph.transpose(in(OnnxLayout::points, graph), channel_permutation(axes_, true));
  } else if (const std::string& first = values_[index_of(OnnxLayout::channels_first)]; !first.empty()) {
    wanted = graph.transpose(first, channel_permutation(axes_, false));
  } else {
    OnnxNumbers shape = extents();
    shape.insert(shape.begin(), 0);  // as it is
    shape.push_back(grid_.channels);
    wanted = graph.reshape(values_[index_of(OnnxLayout::rows)], shape);
  }
  return wanted;
}

OnnxBoundary OnnxBoundary::cast(OnnxType type, OnnxBuilder& graph) {
  if (type == type_) return *this;
  return with(type, layout_, graph.cast(in(layout_, graph), type_, type));
}

OnnxBoundary OnnxBoundary::with(OnnxType type, OnnxLayout layout, std::string value) const {
  return {grid_, axes_, type, layout, std::move(value)};
}

}  // namespace mylos

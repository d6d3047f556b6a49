#include "mylos/model/block/layer_input.hpp"

#include <fmt/format.h>

#include "mylos/kernels/pointwise/activation.hpp"

namespace mylos {

GridShape grid_of(const std::vector<std::int64_t>& shape) {
  GridShape grid;
  grid.channels = shape.back();
  const std::size_t axes = shape.size() - 1;
  for (std::size_t axis = 0; axis < axes; ++axis) grid.extent[3 - axes + axis] = shape[axis];
  check_grid(grid, "data.shape");
  return grid;
}

GridShape require_grid(const LayerInput& input, const char* does) {
  if (input.axes > 0) return input.grid;
  fail_input(
      errors::bad_layer,
      "model.layers: layer '{}' {} a grid, but its input is a vector of {}; grids come from data.shape or "
      "from files that state the shape of a sample",
      input.layer, does, input.grid.channels);
}

void refuse_axes(std::size_t given, const LayerInput& input, const char* key, const char* what) {
  fail_input(errors::bad_layer,
             "model.layers: layer '{}' has {} {} in '{}', and its grid has {} ax{}s; give 1{}", input.layer,
             given, what, key, input.axes, input.axes == 1 ? "i" : "e",
             input.axes == 1 ? "" : fmt::format(" or {}", input.axes));
}

PaddingKinds padding_kinds(const Edges& edges, const LayerInput& input) {
  if (!edges.by_name.empty()) {
    fail_input(errors::bad_layer,
               "model.layers: layer '{}' has 'edges' by the names of axes, which its network does not know; "
               "list one for each axis",
               input.layer);
  }
  constexpr PaddingKind kinds[] = {PaddingKind::zero, PaddingKind::periodic, PaddingKind::reflect,
                                   PaddingKind::pole};
  const std::vector<Padding>& given = edges.by_axis;
  if (given.size() != 1 && given.size() != input.axes) refuse_axes(given.size(), input, "edges", "words");
  PaddingKinds result;
  for (std::size_t axis = 0; axis < input.axes; ++axis)
    result[3 - input.axes + axis] = kinds[static_cast<std::size_t>(edges.along(axis))];
  return result;
}

bool has_fused_activation(const LayerOptions& layer) {
  return traits_of(layer.kind).fuses_activation && layer.norm == NormType::none;
}

bool is_fused_with_norm(const LayerOptions& layer) {
  return layer.norm == NormType::batchnorm && layer.dropout == 0 && keeps_output(layer.activation, false);
}

}  // namespace mylos

#include "mylos/model/block/layer_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <type_traits>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/kernels/norm/group_norm.hpp"
#include "mylos/kernels/pointwise/activation.hpp"

namespace mylos {
namespace {

PaddingKind padding_of(Padding edges) {
  switch (edges) {
    case Padding::periodic:
      return PaddingKind::periodic;
    case Padding::reflect:
      return PaddingKind::reflect;
    case Padding::zero:
      break;
  }
  return PaddingKind::zero;
}

GridShape require_grid(const LayerInput& input, const char* does) {
  if (input.axes > 0) return input.grid;
  fail_input(
      errors::bad_layer,
      "model.layers: layer '{}' {} a grid, but its input is a vector of {}; grids come from data.shape or "
      "from "
      "files that state the shape of a sample",
      input.layer, does, input.grid.channels);
}

/// Returns the deck's numbers on the axes of the grid; missing axes get `absent`.
template <class Number>
std::array<Number, 3> along_axes(const std::vector<Number>& given, std::type_identity_t<Number> absent,
                                 const LayerInput& input, const char* key) {
  std::array<Number, 3> result = {absent, absent, absent};
  if (given.empty()) return result;
  if (given.size() != 1 && given.size() != input.axes) {
    fail_input(errors::bad_layer,
               "model.layers: layer '{}' has {} numbers in '{}', and its grid has {} ax{}s; give 1{}",
               input.layer, given.size(), key, input.axes, input.axes == 1 ? "i" : "e",
               input.axes == 1 ? "" : fmt::format(" or {}", input.axes));
  }
  for (std::size_t axis = 0; axis < input.axes; ++axis)
    result[3 - input.axes + axis] = given.size() == 1 ? given.front() : given[axis];
  return result;
}

/// Checks the shape as the kernels do; messages name the layer.
template <class Shape>
Shape checked(const Shape& shape, const LayerInput& input, const char* does) {
  try {
    check(shape);
  } catch (const Error& error) {
    fail_input(errors::bad_layer, "model.layers: layer '{}' cannot {} {}: {}", input.layer, does,
               describe(input.grid), error.message());
  }
  return shape;
}

/// The number of grid points of a sample per point of the layer's grid, by axis.
using Coarseness = std::vector<std::int64_t>;

std::int64_t along(const PerAxis& given, std::size_t axis, std::int64_t absent) {
  return given.empty() ? absent : given.size() == 1 ? given.front() : given[axis];
}

/// Returns the coarseness after the layer from that before it.
Coarseness coarsened(const LayerOptions& layer, Coarseness before) {
  const bool pools = layer.kind == LayerKind::max_pool || layer.kind == LayerKind::average_pool;
  const bool is_finer = layer.kind == LayerKind::upsample || layer.transposed;
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    const std::int64_t window = pools ? along(layer.kernel, axis, 2) : 1;
    const std::int64_t step =
        layer.kind == LayerKind::upsample ? along(layer.factor, axis, 2) : along(layer.stride, axis, window);
    before[axis] =
        is_finer ? std::max<std::int64_t>(1, before[axis] / step) : std::min(before[axis] * step, max_points);
  }
  return before;
}

}  // namespace

GridShape grid_of(const std::vector<std::int64_t>& shape) {
  GridShape grid;
  grid.channels = shape.back();
  const std::size_t axes = shape.size() - 1;
  for (std::size_t axis = 0; axis < axes; ++axis) grid.extent[3 - axes + axis] = shape[axis];
  check_grid(grid, "data.shape");
  return grid;
}

ConvolutionShape convolution_of(const LayerOptions& layer, const LayerInput& input) {
  if (layer.outputs == 0)
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'outputs', the number of its output channels", input.layer);
  ConvolutionShape shape;
  shape.input = require_grid(input, "convolves");
  shape.outputs = layer.outputs;
  shape.kernel = along_axes(layer.kernel, 1, input, "kernel");
  shape.stride = along_axes(layer.stride, 1, input, "stride");
  shape.dilation = along_axes(layer.dilation, 1, input, "dilation");
  shape.padding = along_axes(layer.padding, 0, input, "padding");
  for (std::size_t axis = 0; layer.padding.empty() && axis < 3; ++axis)
    shape.padding[axis] = (shape.kernel[axis] - 1) * shape.dilation[axis] / 2;
  shape.padding_kind = padding_of(layer.edges);
  shape.groups = layer.groups;
  shape.transposed = layer.transposed;
  for (std::size_t axis = 0; shape.transposed && axis < 3; ++axis) {
    // Pad the output so that it has `stride` times the input's points, if possible.
    const std::int64_t spanned = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
    const std::int64_t missing = shape.stride[axis] + 2 * shape.padding[axis] - spanned;
    shape.output_padding[axis] = std::clamp<std::int64_t>(missing, 0, shape.stride[axis] - 1);
  }
  return checked(shape, input, "convolve");
}

PoolShape pool_of(const LayerOptions& layer, const LayerInput& input) {
  const PerAxis window = layer.kernel.empty() ? PerAxis{2} : layer.kernel;
  PoolShape shape;
  shape.input = require_grid(input, "pools");
  shape.window = along_axes(window, 1, input, "kernel");
  shape.stride = along_axes(layer.stride.empty() ? window : layer.stride, 1, input, "stride");
  shape.padding = along_axes(layer.padding, 0, input, "padding");
  return checked(shape, input, "pool");
}

SpectralShape spectral_of(const LayerOptions& layer, const LayerInput& input) {
  SpectralShape shape;
  shape.input = require_grid(input, "transforms");
  if (layer.outputs == 0)
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'outputs', the number of its output channels", input.layer);
  if (layer.modes.empty())
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'modes', the wave numbers that it keeps along each axis",
               input.layer);
  shape.outputs = layer.outputs;
  shape.modes = along_axes(layer.modes, 1, input, "modes");
  return checked(shape, input, "transform");
}

bool has_fused_activation(const LayerOptions& layer) {
  const bool has_product = layer.kind == LayerKind::dense || layer.kind == LayerKind::conv;
  return has_product && layer.norm == NormType::none;
}

bool is_fused_with_norm(const LayerOptions& layer) {
  return layer.norm == NormType::batchnorm && layer.dropout == 0 && keeps_output(layer.activation, false);
}

UpsampleShape upsampling_of(const LayerOptions& layer, const LayerInput& input) {
  UpsampleShape shape;
  shape.input = require_grid(input, "makes finer");
  shape.factor = along_axes(layer.factor.empty() ? PerAxis{2} : layer.factor, 1, input, "factor");
  shape.interpolation = layer.between == Between::linear ? Interpolation::linear : Interpolation::nearest;
  return checked(shape, input, "make finer");
}

MarginShape padded_by(const LayerOptions& layer, const LayerInput& input) {
  MarginShape shape;
  shape.inner = require_grid(input, "pads");
  if (layer.margin.empty())
    fail_input(errors::missing_key, "model.layers: layer '{}' needs 'margin', the width of its margins",
               input.layer);
  const std::array<double, 3> margin = along_axes(layer.margin, 0, input, "margin");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t points = shape.inner.extent[axis];
    shape.before[axis] =
        static_cast<std::int64_t>(std::nearbyint(margin[axis] * static_cast<double>(points)));
    shape.outer[axis] = points + 2 * shape.before[axis];
  }
  return checked(shape, input, "pad");
}

MarginShape cropped_to(const LayerInput& input, const std::string& like, const GridShape& target) {
  MarginShape shape;
  shape.outer = require_grid(input, "crops").extent;
  shape.inner = {.extent = target.extent, .channels = input.grid.channels};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t removed = shape.outer[axis] - target.extent[axis];
    if (removed < 0) {
      fail_input(errors::bad_layer,
                 "model.layers: layer '{}' cannot crop {} to the grid of '{}', which has {} points in {}; a "
                 "crop takes a smaller grid",
                 input.layer, describe(input.grid), like, target.extent[axis], axis_names[axis]);
    }
    shape.before[axis] = removed / 2;
  }
  return checked(shape, input, "crop");
}

void require_groups(const LayerInput& input, std::int64_t groups) {
  try {
    check_group_norm(input.grid, groups);
  } catch (const Error& error) {
    fail_input(errors::bad_layer, "model.layers: layer '{}' cannot normalise {} with 'norm_groups' = {}: {}",
               input.layer, describe(input.grid), groups, error.message());
  }
}

void require_levels(const std::vector<LayerOptions>& layers, const std::vector<std::int64_t>& shape) {
  if (shape.size() < 2) return;
  Coarseness now(shape.size() - 1, 1);
  Coarseness coarsest = now;
  std::map<std::string, Coarseness> of_layer{{"input", now}};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (const auto from = of_layer.find(layers[i].skip_from);
        layers[i].kind == LayerKind::branch && from != of_layer.end()) {
      now = from->second;
    }
    for (std::int64_t copy = 0; copy < layers[i].repeat; ++copy) now = coarsened(layers[i], now);
    of_layer[layer_name(layers, i)] = now;
    for (std::size_t axis = 0; axis < now.size(); ++axis)
      coarsest[axis] = std::max(coarsest[axis], now[axis]);
  }
  for (std::size_t axis = 0; axis < now.size(); ++axis) {
    if (shape[axis] % coarsest[axis] == 0) continue;
    fail_input(
        errors::bad_layer,
        "the grid of a sample is {}, and the network makes it {} times coarser and then finer again: its "
        "extents "
        "must be divisible by {}, which {} is not; give samples of another size, or fewer levels "
        "(model.channels or model.layers)",
        describe(grid_of(shape)), coarsest[axis], coarsest[axis], shape[axis]);
  }
}

}  // namespace mylos

// The transforms are products with constant matrices, in float whatever the layer's type: first along each
// axis with its cos and sin, then from these real coefficients to the modes' complex ones.
#include <fmt/format.h>

#include <functional>

#include "mylos/kernels/spectral/spectral.hpp"
#include "mylos/model/block/transpose.hpp"
#include "mylos/model/layers/spectral/spectral_block.hpp"
#include "mylos/model/layers/spectral/spectral_modes.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {
namespace {

/// Multiplies every axis of a grid, channels first, by its matrix [rows, columns], which `make` computes once
/// for all layers. `name`: of the constants, which with the extents states what they are.
std::string along_axes(OnnxBuilder& graph, const std::string& name, std::string value,
                       const OnnxNumbers& rows, const OnnxNumbers& columns,
                       const std::function<std::vector<float>(std::size_t axis)>& make) {
  const std::size_t axes = rows.size();
  OnnxNumbers rotation{0, 1, static_cast<std::int64_t>(axes) + 1};  // the last axis becomes the first
  for (std::size_t axis = 1; axis < axes; ++axis) rotation.push_back(static_cast<std::int64_t>(axis) + 1);
  for (std::size_t axis = axes; axis-- > 0;) {
    const std::string matrix =
        graph.shared_numbers(fmt::format("{} {} {}", name, rows[axis], columns[axis]), name,
                             {rows[axis], columns[axis]}, [&] { return make(axis); });
    value = graph.node("MatMul", {value, matrix});
    if (axes > 1) value = graph.transpose(value, rotation);
  }
  return value;
}

/// The two parts of complex numbers, [modes, batch, channels].
struct ComplexValue {
  std::string real;
  std::string imaginary;
};

/// Returns the modes' complex coefficients of a field [batch, channels, extents].
ComplexValue analysed(OnnxBuilder& graph, const SpectralModes& modes, const std::string& x) {
  const SpectralShape& shape = modes.shape();
  const OnnxNumbers points = modes.points();
  const OnnxNumbers basis = modes.basis();
  const OnnxNumbers kept = last_axes(shape.modes, modes.axes());
  const std::string by_axis = along_axes(graph, "analysis", x, points, basis, [&](std::size_t axis) {
    return transpose(analysis_matrix(points[axis], kept[axis]), basis[axis], points[axis]);
  });
  const std::string coefficients = graph.reshape(by_axis, {0, shape.input.channels, modes.basis_count()});
  const std::string to_modes =
      graph.shared_numbers(modes.key_of_to_modes(), "to_modes", {modes.basis_count(), 2 * modes.count()},
                           [&] { return modes.to_modes(); });
  const std::string parts = graph.node("MatMul", {coefficients, to_modes});
  const auto part = [&](std::int64_t which) {
    return graph.transpose(graph.slice(parts, 2, which * modes.count(), (which + 1) * modes.count()),
                           {2, 0, 1});
  };
  return {part(0), part(1)};
}

/// Returns the field [batch, channels, extents] of complex coefficients.
std::string synthesised(OnnxBuilder& graph, const SpectralModes& modes, const ComplexValue& y) {
  const SpectralShape& shape = modes.shape();
  const auto placed = [&](const std::string& part) { return graph.transpose(part, {1, 2, 0}); };
  const std::string parts =
      graph.node("Concat", {placed(y.real), placed(y.imaginary)}, {{"axis", std::int64_t{2}}});
  const std::string from_modes =
      graph.shared_numbers(modes.key_of_from_modes(), "from_modes", {2 * modes.count(), modes.basis_count()},
                           [&] { return modes.from_modes(); });
  const OnnxNumbers points = modes.points();
  const OnnxNumbers basis = modes.basis();
  const OnnxNumbers kept = last_axes(shape.modes, modes.axes());
  OnnxNumbers grid = basis;
  grid.insert(grid.begin(), {0, shape.outputs});
  const std::string coefficients = graph.reshape(graph.node("MatMul", {parts, from_modes}), grid);
  return along_axes(graph, "synthesis", coefficients, basis, points, [&](std::size_t axis) {
    return transpose(synthesis_matrix(points[axis], kept[axis]), points[axis], basis[axis]);
  });
}

/// Returns one part of all weights, [modes, inputs, outputs], in float.
std::string weights_of(OnnxLayer& layer, const SpectralModes& modes, const std::vector<float>& weight,
                       std::int64_t which, const char* name) {
  const SpectralShape& shape = modes.shape();
  const std::int64_t matrices = modes.count() * shape.input.channels;
  std::vector<float> part;
  part.reserve(static_cast<std::size_t>(matrices * shape.outputs));
  for (std::int64_t row = 0; row < matrices; ++row) {
    const auto first = weight.begin() + (2 * row + which) * shape.outputs;
    part.insert(part.end(), first, first + shape.outputs);
  }
  const std::string constant =
      layer.graph.numbers(name, layer.type(), {modes.count(), shape.input.channels, shape.outputs}, part);
  return layer.graph.cast(constant, layer.type(), OnnxType::float32);
}

}  // namespace

bool SpectralBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const SpectralShape& shape = spectral()->shape();
  const SpectralModes modes(shape, x.axes());
  const std::string value =
      graph.cast(x.in(OnnxLayout::channels_first, graph), layer.type(), OnnxType::float32);
  const ComplexValue from = analysed(graph, modes, value);
  const std::vector<float> weight = layer.values("weight");
  const std::string real = weights_of(layer, modes, weight, 0, "weight_real");
  const std::string imaginary = weights_of(layer, modes, weight, 1, "weight_imaginary");
  const auto product = [&](const std::string& a, const std::string& b) {
    return graph.node("MatMul", {a, b});
  };
  const ComplexValue mixed{graph.node("Sub", {product(from.real, real), product(from.imaginary, imaginary)}),
                           graph.node("Add", {product(from.real, imaginary), product(from.imaginary, real)})};
  std::string y = synthesised(graph, modes, mixed);
  if (layer.has("bias")) {
    const OnnxNumbers dims = per_channel(shape.outputs, x.axes());
    y = graph.node("Add", {y, layer.parameter("bias", dims, OnnxType::float32)});
  }
  layer.give({output_grid(shape), x.axes(), layer.type(), OnnxLayout::channels_first,
              graph.cast(y, OnnxType::float32, layer.type())});
  return true;
}

}  // namespace mylos

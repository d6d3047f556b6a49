// ONNX pads with zeros alone: edges of other kinds are nodes before a convolution, and after a transposed
// one.
#include <limits>

#include "mylos/model/block/channels_first_layout.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {
namespace {

constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t first_grid_axis = 2;  // after batch and channels

bool has_any(const OnnxNumbers& numbers) {
  for (const std::int64_t number : numbers) {
    if (number != 0) return true;
  }
  return false;
}

/// Extends each axis of a grid by what lies beyond its edges. (The mode "wrap" of Pad came with opset 19.)
std::string with_edges(OnnxBuilder& graph, const ConvolutionShape& shape, std::string x, OnnxType type,
                       std::size_t axes) {
  const OnnxNumbers padding = last_axes(shape.padding, axes);
  if (shape.padding_kind == PaddingKind::reflect) {
    OnnxNumbers ends{0, 0};
    ends.insert(ends.end(), padding.begin(), padding.end());
    return graph.pad(x, type, "reflect", ends, ends);
  }
  const OnnxNumbers extents = last_axes(shape.input.extent, axes);
  for (std::size_t i = 0; i < axes; ++i) {
    if (padding[i] == 0) continue;
    const std::int64_t axis = first_grid_axis + static_cast<std::int64_t>(i);
    const std::string before = graph.slice(x, axis, extents[i] - padding[i], to_end);
    const std::string after = graph.slice(x, axis, 0, padding[i]);
    x = graph.node("Concat", {before, x, after}, {{"axis", axis}});
  }
  return x;
}

/// Adds what a transposed convolution wrote beyond the edges of its output to the points that it stands for:
/// the adjoint of with_edges(). x: the output with `padding` points more at both ends of each axis.
std::string folded(OnnxBuilder& graph, const ConvolutionShape& shape, std::string x, OnnxType type,
                   std::size_t axes) {
  const OnnxNumbers padding = last_axes(shape.padding, axes);
  const OnnxNumbers extents = last_axes(output_grid(shape).extent, axes);
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t count = padding[i];
    if (count == 0) continue;
    const std::int64_t axis = first_grid_axis + static_cast<std::int64_t>(i);
    const std::int64_t points = extents[i];
    const auto placed = [&](const std::string& edge, std::int64_t first) {
      OnnxNumbers before(axes + 2, 0), after(axes + 2, 0);
      before[i + 2] = first;
      after[i + 2] = points - count - first;
      return graph.pad(edge, type, "constant", before, after);
    };
    const std::string core = graph.slice(x, axis, count, count + points);
    const bool mirrors = shape.padding_kind == PaddingKind::reflect;
    const std::int64_t end = points + 2 * count;
    const std::string low = mirrors ? placed(graph.reversed(x, axis, count, count), 1)
                                    : placed(graph.slice(x, axis, 0, count), points - count);
    const std::string high = mirrors ? placed(graph.reversed(x, axis, end, count), points - 1 - count)
                                     : placed(graph.slice(x, axis, end - count, end), 0);
    x = graph.node("Add", {graph.node("Add", {core, low}), high});
  }
  return x;
}

/// Returns the kernel in ONNX's layout, which is PyTorch's.
std::string kernel_of(OnnxLayer& layer, const ConvolutionShape& shape, std::size_t axes) {
  const std::int64_t rows = weight_rows(shape);
  const std::int64_t channels = weight_columns(shape) / shape.taps();
  OnnxNumbers dims = last_axes(shape.kernel, axes);
  dims.insert(dims.begin(), {rows, channels});
  const std::vector<float> ours = layer.values("weight");
  std::vector<float> theirs(ours.size());
  to_channels_first(ChannelsFirst{dims, shape.taps(), channels}, std::span<const float>(ours),
                    std::span<float>(theirs));
  return layer.graph.numbers("weight", layer.type(), dims, theirs);
}

}  // namespace

bool ConvolutionBlock::write_onnx(OnnxLayer& layer) const {
  OnnxBoundary& x = layer.x();
  OnnxBuilder& graph = layer.graph;
  const ConvolutionShape& shape = options_.shape;
  const std::size_t axes = x.axes();
  const bool has_edges = shape.padding_kind != PaddingKind::zero && has_any(last_axes(shape.padding, axes));
  std::string value = x.in(OnnxLayout::channels_first, graph);
  if (has_edges && !shape.transposed) value = with_edges(graph, shape, value, layer.type(), axes);
  std::vector<OnnxAttribute> attributes{
      {"kernel_shape", last_axes(shape.kernel, axes)},
      {"strides", last_axes(shape.stride, axes)},
      {"dilations", last_axes(shape.dilation, axes)},
      {"pads", has_edges ? OnnxNumbers(2 * axes, 0) : both_ends(shape.padding, axes)},
      {"group", shape.groups}};
  if (shape.transposed) attributes.push_back({"output_padding", last_axes(shape.output_padding, axes)});
  std::vector<std::string> inputs{value, kernel_of(layer, shape, axes)};
  const bool adds_bias_later = has_edges && shape.transposed;  // folding would add it twice
  if (options_.bias && !adds_bias_later) inputs.push_back(layer.parameter("bias", {shape.outputs}));
  value = graph.node(shape.transposed ? "ConvTranspose" : "Conv", std::move(inputs), std::move(attributes));
  if (has_edges && shape.transposed) value = folded(graph, shape, value, layer.type(), axes);
  if (options_.bias && adds_bias_later) {
    value = graph.node("Add", {value, layer.parameter("bias", per_channel(shape.outputs, axes))});
  }
  value = onnx_activation(graph, options_.activation, value, layer.type());
  layer.give({output_grid(shape), axes, layer.type(), OnnxLayout::channels_first, value});
  return true;
}

}  // namespace mylos

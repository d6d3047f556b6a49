// ONNX pads with zeros alone: edges of other kinds are nodes before a convolution, and after a transposed
// one.
#include "mylos/kernels/convolution/convolution_map.hpp"
#include "mylos/model/block/channels_first_layout.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"
#include "mylos/model/onnx/onnx_edges.hpp"
#include "mylos/model/onnx/onnx_layer.hpp"

namespace mylos {
namespace {

/// The padding of a convolution: of zeros, which ONNX's operators add themselves, and of other kinds.
struct Padded {
  Padded(const ConvolutionShape& shape) : zeros(shape.padding), edges(ConvolutionMap(shape).copied_edges()) {
    for (std::size_t axis = 0; axis < 3; ++axis) zeros[axis] -= edges.padding[axis];
  }
  [[nodiscard]] bool has_edges() const { return edges.padding != Extents{0, 0, 0}; }

  Extents zeros;
  GridEdges edges;
};

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
  const Padded padded(shape);
  const bool has_edges = padded.has_edges();
  std::string value = x.in(OnnxLayout::channels_first, graph);
  if (has_edges && !shape.transposed) value = with_edges(graph, padded.edges, value, layer.type(), axes);
  std::vector<OnnxAttribute> attributes{{"kernel_shape", last_axes(shape.kernel, axes)},
                                        {"strides", last_axes(shape.stride, axes)},
                                        {"dilations", last_axes(shape.dilation, axes)},
                                        {"pads", both_ends(padded.zeros, axes)},
                                        {"group", shape.groups}};
  if (shape.transposed) attributes.push_back({"output_padding", last_axes(shape.output_padding, axes)});
  std::vector<std::string> inputs{value, kernel_of(layer, shape, axes)};
  const bool adds_bias_later = has_edges && shape.transposed;  // folding would add it twice
  if (options_.bias && !adds_bias_later) inputs.push_back(layer.parameter("bias", {shape.outputs}));
  value = graph.node(shape.transposed ? "ConvTranspose" : "Conv", std::move(inputs), std::move(attributes));
  if (has_edges && shape.transposed) value = folded_edges(graph, padded.edges, value, layer.type(), axes);
  if (options_.bias && adds_bias_later) {
    value = graph.node("Add", {value, layer.parameter("bias", per_channel(shape.outputs, axes))});
  }
  value = onnx_activation(graph, options_.activation, value, layer.type());
  layer.give({output_grid(shape), axes, layer.type(), OnnxLayout::channels_first, value});
  return true;
}

}  // namespace mylos

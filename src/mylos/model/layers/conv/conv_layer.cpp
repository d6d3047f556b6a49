#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"
#include "mylos/model/layers/layer_kinds.hpp"

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

}  // namespace

void append_convolution(GrowingChain& network, const LayerOptions& layer) {
  ConvolutionOptions options;
  options.shape = convolution_of(layer, network.input());
  options.bias = layer.bias;
  network.set_product(options, layer, "conv");
  const GridShape output = output_grid(options.shape);
  network.append(std::make_unique<ConvolutionBlock>(std::move(options)), output);
}

}  // namespace mylos

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/conv/convolution_block.hpp"

namespace mylos {
namespace {

ConvolutionShape convolution_of(const kinds::Conv& conv, std::int64_t outputs, const LayerInput& input) {
  if (outputs == 0)
    fail_input(errors::missing_key,
               "model.layers: layer '{}' needs 'outputs', the number of its output channels", input.layer);
  ConvolutionShape shape;
  shape.input = require_grid(input, "convolves");
  shape.outputs = outputs;
  shape.kernel = along_axes(conv.kernel, 1, input, "kernel");
  shape.stride = along_axes(conv.stride, 1, input, "stride");
  shape.dilation = along_axes(conv.dilation, 1, input, "dilation");
  shape.padding = along_axes(conv.stated().padding, 0, input, "padding");
  shape.padding_kind = padding_kinds(conv.edges, input);
  shape.groups = conv.groups;
  shape.transposed = conv.transposed;
  for (std::size_t axis = 0; shape.transposed && axis < 3; ++axis) {
    // Pad the output so that it has `stride` times the input's points, if possible.
    const std::int64_t spanned = shape.dilation[axis] * (shape.kernel[axis] - 1) + 1;
    const std::int64_t missing = shape.stride[axis] + 2 * shape.padding[axis] - spanned;
    shape.output_padding[axis] = std::clamp<std::int64_t>(missing, 0, shape.stride[axis] - 1);
  }
  return checked(shape, input, "convolve");
}

void require_split(const ConvolutionShape& shape, const GridPart& part, const LayerInput& input) {
  try {
    static_cast<void>(split(shape, part));
  } catch (const Error& error) {
    fail_input(errors::bad_layer, "model.layers: layer '{}' cannot convolve boxes of {}: {}", input.layer,
               describe(input.grid), error.message());
  }
}

}  // namespace

kinds::Conv kinds::Conv::stated() const {
  Conv all = *this;
  if (kernel.empty()) all.kernel = {1};
  if (stride.empty()) all.stride = {1};
  if (dilation.empty()) all.dilation = {1};
  if (!padding.empty()) return all;
  all.padding.resize(std::max(all.kernel.size(), all.dilation.size()));
  for (std::size_t axis = 0; axis < all.padding.size(); ++axis)
    all.padding[axis] = (along(kernel, axis, 1) - 1) * along(dilation, axis, 1) / 2;
  return all;
}

void kinds::Conv::append_to(GrowingChain& network, const LayerOptions& layer) const {
  ConvolutionOptions options;
  options.shape = convolution_of(*this, layer.outputs, network.input());
  options.bias = bias;
  options.part = network.model().part;
  require_split(options.shape, options.part, network.input());
  network.set_product(options, layer, "conv");
  const GridShape output = output_grid(options.shape);
  network.append(std::make_unique<ConvolutionBlock>(std::move(options)), output);
}

}  // namespace mylos

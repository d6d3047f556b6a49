#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/layers/layer_kinds.hpp"
#include "mylos/model/layers/upsample/upsample_block.hpp"

namespace mylos {
namespace {

UpsampleShape upsampling_of(const LayerOptions& layer, const LayerInput& input) {
  UpsampleShape shape;
  shape.input = require_grid(input, "makes finer");
  shape.factor = along_axes(layer.factor.empty() ? PerAxis{2} : layer.factor, 1, input, "factor");
  shape.interpolation = layer.between == Between::linear ? Interpolation::linear : Interpolation::nearest;
  return checked(shape, input, "make finer");
}

}  // namespace

void append_upsampling(GrowingChain& network, const LayerOptions& layer) {
  UpsampleOptions options;
  options.name = network.name();
  options.shape = upsampling_of(layer, network.input());
  options.type = network.types().without_weights(network.name(), "upsample");
  auto block = std::make_unique<UpsampleBlock>(std::move(options));
  const GridShape output = block->output();
  network.append(std::move(block), output);
}

}  // namespace mylos

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/block/layer_input.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/upsample/upsample_block.hpp"

namespace mylos {
namespace {

UpsampleShape upsampling_of(const kinds::Upsample& layer, const LayerInput& input) {
  UpsampleShape shape;
  shape.input = require_grid(input, "makes finer");
  shape.factor = along_axes(layer.stated().factor, 1, input, "factor");
  const bool is_linear = layer.between == Between::linear;
  shape.interpolation = is_linear ? Interpolation::linear : Interpolation::nearest;
  shape.edges = padding_kinds(layer.edges, input);
  if (!is_linear && shape.edges != PaddingKinds())
    fail_input(errors::key_without_effect,
               "model.layers: layer '{}' has 'edges', which only between = \"linear\" reads", input.layer);
  return checked(shape, input, "make finer");
}

}  // namespace

kinds::Upsample kinds::Upsample::stated() const {
  Upsample all = *this;
  if (factor.empty()) all.factor = {2};
  return all;
}

void kinds::Upsample::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  UpsampleOptions options;
  options.name = network.name();
  options.shape = upsampling_of(*this, network.input());
  options.part = network.model().part;
  options.type = network.types().without_weights(network.name(), traits.name);
  auto block = std::make_unique<UpsampleBlock>(std::move(options));
  const GridShape output = block->output();
  network.append(std::move(block), output);
}

}  // namespace mylos

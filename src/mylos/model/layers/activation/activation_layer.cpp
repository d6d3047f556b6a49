#include "mylos/model/layers/activation/activation_layer.hpp"

#include "mylos/base/errors/deck.hpp"
#include "mylos/kernels/pointwise/fields/box_of_part.hpp"
#include "mylos/model/layers/activation/activation_block.hpp"

namespace mylos {

void append_activation(GrowingChain& network, const LayerOptions& layer) {
  const GridShape grid = network.input().grid;
  ActivationOptions options;
  options.name =
      std::holds_alternative<kinds::Activation>(layer.kind) ? network.name() : network.name() + ".activation";
  options.width = grid.columns();
  options.activation = layer.activation;
  options.dropout = layer.dropout;
  options.type = network.types().without_weights(network.name(), "activation");
  options.seed = network.seed();
  if (network.input().axes > 0) options.box = box_of_part(grid, network.model().part);
  network.append(std::make_unique<ActivationBlock>(std::move(options)), grid);
}

void kinds::Activation::append_to(GrowingChain& network, const LayerOptions& layer) const {
  if (layer.activation == mylos::Activation::none && layer.dropout == 0)
    network.refuse(errors::missing_key, "needs an 'activation' or a 'dropout'");
}

}  // namespace mylos

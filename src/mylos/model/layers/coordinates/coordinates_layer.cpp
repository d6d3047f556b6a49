#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/coordinates/coordinates_block.hpp"

namespace mylos {

void kinds::Coordinates::append_to(GrowingChain& network, const LayerOptions& /*layer*/) const {
  const LayerInput input = network.input();
  if (input.axes == 0) {
    network.refuse(errors::bad_layer, "appends coordinates to a grid, but its input is a vector of {}",
                   input.grid.channels);
  }
  auto block = std::make_unique<CoordinatesBlock>(
      CoordinatesOptions{.name = input.layer,
                         .grid = input.grid,
                         .axes = input.axes,
                         .type = network.types().without_weights(input.layer, "coordinates"),
                         .part = network.model().part});
  const GridShape output = block->output();
  network.append(std::move(block), output);
}

}  // namespace mylos

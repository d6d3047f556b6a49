#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/branch/chain_branch.hpp"

namespace mylos {

void kinds::Branch::append_to(GrowingChain& network, const LayerOptions& layer) const {
  const LayerOutput from = network.skip_of(layer);
  const GridShape grid = network.input().grid;
  network.leave_input();
  network.append(
      std::make_unique<ChainBranch>(ChainBranchOptions{.name = network.name(),
                                                       .inputs = grid.columns(),
                                                       .skip_inputs = from.grid.columns(),
                                                       .input_type = network.types().input_of(from.type),
                                                       .skip_type = from.type}),
      from.grid, from.axes, from.boundary);
}

}  // namespace mylos

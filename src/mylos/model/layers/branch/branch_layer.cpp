#include "mylos/model/layers/branch/chain_branch.hpp"
#include "mylos/model/layers/layer_kinds.hpp"

namespace mylos {

void append_branch(GrowingChain& network, const LayerOptions& layer) {
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

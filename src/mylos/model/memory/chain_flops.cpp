#include "mylos/model/memory/chain_flops.hpp"

#include <algorithm>

namespace mylos {

ChainFlops flops_of_sample(const Chain& chain, const Engines& engines, const Schedule& schedule) {
  const std::int64_t rows = chain.rows_per_sample;
  ChainFlops flops{.model = chain.head->cost(engines, rows).flops};
  std::vector<BlockCost> costs;
  for (const auto& block : chain.blocks) {
    costs.push_back(block->cost(engines, rows));
    const BlockCost& cost = costs.back();
    flops.model += cost.forward_flops + cost.backward_flops - cost.repeated_flops -
                   cost.spared_forward_flops - cost.spared_backward_flops;
    flops.recomputed += cost.repeated_flops;
  }
  std::vector<bool> has_run(costs.size());
  for (const Operation& operation : schedule) {
    if (operation.kind == OperationKind::loss) continue;
    const BlockCost& cost = costs[operation.block];
    if (operation.kind == OperationKind::backward) {
      const double again = cost.variants[operation.variant].recompute_flops;
      flops.recomputed += std::max(0.0, again - cost.spared_forward_flops);
    } else {
      if (has_run[operation.block]) flops.recomputed += cost.forward_flops - cost.spared_forward_flops;
      has_run[operation.block] = true;
    }
  }
  return flops;
}

}  // namespace mylos

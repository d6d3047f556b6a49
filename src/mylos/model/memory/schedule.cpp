#include "mylos/model/memory/schedule.hpp"

#include <fmt/format.h>

namespace mylos {

Schedule store_all(std::size_t blocks) {
  Schedule schedule;
  schedule.reserve(2 * blocks + 1);
  for (std::size_t i = 0; i < blocks; ++i) schedule.push_back({OperationKind::forward, i, Keep::variant});
  schedule.push_back({OperationKind::loss, blocks});
  for (std::size_t i = blocks; i-- > 0;) schedule.push_back({OperationKind::backward, i});
  return schedule;
}

double predicted_time(const ChainCost& cost, const Schedule& schedule) {
  double sum = 0;
  for (const Operation& operation : schedule) {
    if (operation.kind == OperationKind::loss) {
      sum += cost.loss_time;
      continue;
    }
    const StageCost& block = cost.blocks.at(operation.block);
    if (operation.kind == OperationKind::forward) {
      sum += block.forward_time;
    } else {
      sum += block.backward_time + block.variants.at(operation.variant).recompute_time;
    }
  }
  return sum;
}

std::string describe(const Operation& operation) {
  if (operation.kind == OperationKind::loss) return "loss";
  return fmt::format("{} of block {}", operation.kind == OperationKind::forward ? "forward" : "backward",
                     operation.block);
}

}  // namespace mylos

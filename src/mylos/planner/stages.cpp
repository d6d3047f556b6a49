#include "mylos/planner/stages.hpp"

#include <algorithm>

namespace mylos {
namespace {

/// Of what is carried past x_boundary, the bytes of what was not carried past x_q, q < boundary.
std::size_t carried_bytes(const ChainCost& cost, const Skips& skips, std::size_t boundary, std::size_t q) {
  std::size_t bytes = 0;
  for (const std::size_t carried : skips.carried(boundary)) {
    if (carried > q) bytes += cost.boundary_bytes(carried);
  }
  return bytes;
}

Stage loss_stage(const ChainCost& cost) {
  Stage stage;
  stage.variants.push_back({0, 0, cost.loss_workspace, cost.loss_time});
  return stage;
}

Stage block_stage(const ChainCost& cost, const Skips& skips, std::size_t i) {
  const StageCost& block = cost.blocks[i];
  Stage stage;
  stage.output = block.output_bytes;
  // The chain's input has no gradient.
  stage.output_gradient = cost.boundary_bytes(i + 1) + carried_bytes(cost, skips, i + 1, 0);
  stage.pass_workspace = block.forward_workspace;
  stage.forward_time = block.forward_time;
  for (const VariantCost& variant : block.variants) {
    stage.variants.push_back({block.output_bytes + variant.saved_bytes, block.forward_workspace,
                              variant.backward_workspace,
                              block.forward_time + block.backward_time + variant.recompute_time});
  }
  return stage;
}

}  // namespace

std::vector<Stage> stages_of(const ChainCost& cost) {
  const Skips skips = cost.skips();
  const std::size_t loss = cost.blocks.size();
  std::vector<Stage> stages;
  stages.reserve(loss + 1);
  for (std::size_t i = 0; i <= loss; ++i) {
    Stage stage = i == loss ? loss_stage(cost) : block_stage(cost, skips, i);
    stage.input = cost.boundary_bytes(i);
    if (!skips.carried(i).empty()) {
      for (std::size_t q = 0; q < i; ++q) stage.carried.push_back(carried_bytes(cost, skips, i, q));
    }
    stage.input_gradient = i == 0 ? 0 : cost.boundary_bytes(i);
    if (i < loss && skips.starts_gradient(i))
      stage.input_gradient += cost.boundary_bytes(cost.blocks[i].skip);
    stages.push_back(std::move(stage));
  }
  return stages;
}

std::size_t keep_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                       const StageVariant& variant) {
  const Stage& stage = stages[i];
  const std::size_t forward = stages[k].output_gradient + variant.kept + variant.forward_workspace;
  const std::size_t backward =
      stage.output_gradient + variant.kept + stage.input_gradient + variant.backward_workspace;
  return std::max(forward, backward);
}

std::size_t pass_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k, std::size_t q) {
  const Stage& stage = stages[q];
  return stages[k].output_gradient + (q > i ? stage.input_beside(i) : 0) + stage.output +
         stage.pass_workspace;
}

}  // namespace mylos

#include "stages.hpp"

#include <algorithm>

namespace mylos {

std::vector<Stage> stages_of(const ChainCost& cost) {
  std::vector<Stage> stages;
  std::size_t input = cost.input_bytes;
  for (const StageCost& block : cost.blocks) {
    Stage stage{
        input, stages.empty() ? 0 : input, block.output_bytes, block.forward_workspace, block.forward_time,
        {}};
    for (const VariantCost& variant : block.variants) {
      stage.variants.push_back({block.output_bytes + variant.saved_bytes, variant.backward_workspace,
                                block.forward_time + block.backward_time + variant.recompute_time});
    }
    stages.push_back(std::move(stage));
    input = block.output_bytes;
  }
  stages.push_back({input, input, 0, 0, 0, {{0, cost.loss_workspace, cost.loss_time}}});
  return stages;
}

std::size_t keep_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k,
                       const StageVariant& variant) {
  const Stage& stage = stages[i];
  const std::size_t forward = stages[k].output + variant.kept + stage.forward_workspace;
  const std::size_t backward =
      stage.output + variant.kept + stage.input_gradient + variant.backward_workspace;
  return std::max(forward, backward);
}

std::size_t pass_bytes(const std::vector<Stage>& stages, std::size_t i, std::size_t k, std::size_t q) {
  const Stage& stage = stages[q];
  return stages[k].output + (q > i ? stage.input : 0) + stage.output + stage.forward_workspace;
}

void append_pass(Schedule& schedule, std::size_t i, std::size_t j) {
  schedule.push_back({OperationKind::forward, i, Keep::input});
  for (std::size_t q = i + 1; q < j; ++q) schedule.push_back({OperationKind::forward, q, Keep::nothing});
}

void append_forward(Schedule& schedule, const std::vector<Stage>& stages, std::size_t i,
                    std::size_t variant) {
  if (i + 1 == stages.size()) {
    schedule.push_back({OperationKind::loss, i});
  } else {
    schedule.push_back({OperationKind::forward, i, Keep::variant, variant});
  }
}

void append_backward(Schedule& schedule, const std::vector<Stage>& stages, std::size_t i,
                     std::size_t variant) {
  if (i + 1 < stages.size()) schedule.push_back({OperationKind::backward, i, Keep::nothing, variant});
}

}  // namespace mylos

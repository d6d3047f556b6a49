#include "mylos/model/evaluation_layout.hpp"

#include <algorithm>

namespace mylos {

EvaluationLayout make_evaluation_layout(const ChainCost& cost, std::size_t bytes) {
  EvaluationLayout layout;
  layout.bytes = bytes;
  std::size_t input = cost.input_bytes;
  for (const StageCost& block : cost.blocks) {
    layout.bytes = std::max(layout.bytes, input + block.output_bytes + block.forward_workspace);
    input = block.output_bytes;
  }
  layout.bytes = std::max(layout.bytes, input + cost.loss_workspace);

  // x_0 lies at the top, so x_1 at the bottom.
  input = cost.input_bytes;
  for (std::size_t i = 0; i < cost.blocks.size(); ++i) {
    const std::size_t output = cost.blocks[i].output_bytes;
    const bool at_bottom = i % 2 == 0;
    layout.output.push_back(at_bottom ? 0 : layout.bytes - output);
    layout.workspace.push_back(at_bottom ? output : input);
    input = output;
  }
  const bool last_at_bottom = cost.blocks.size() % 2 == 1;
  layout.workspace.push_back(last_at_bottom ? input : 0);
  return layout;
}

}  // namespace mylos

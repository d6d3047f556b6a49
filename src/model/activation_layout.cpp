#include "mylos/model/activation_layout.hpp"

#include <algorithm>
#include <array>

#include "mylos/base/arena.hpp"

namespace mylos {

ActivationLayout make_activation_layout(const Chain& chain, const GemmEngine& gemm, std::int64_t rows) {
  const std::size_t count = chain.blocks.size();
  std::vector<BlockCost> costs;
  for (const auto& block : chain.blocks) costs.push_back(block->cost(gemm, rows));

  ActivationLayout layout;
  layout.rows = rows;
  const std::size_t row_bytes = aligned_bytes(static_cast<std::size_t>(rows) * 4);
  layout.row_correct = row_bytes;
  std::size_t bottom = 2 * row_bytes;
  std::vector<std::size_t> bottom_after;
  for (const BlockCost& cost : costs) {
    layout.output.push_back(bottom);
    layout.saved.push_back(bottom + cost.output_bytes);
    bottom += cost.output_bytes + cost.saved_bytes;
    bottom_after.push_back(bottom);
  }

  std::array<std::size_t, 2> turn{0, 0};  // the larger gradient of the even and of the odd boundaries
  for (std::size_t i = 0; i < count; ++i) turn[i % 2] = std::max(turn[i % 2], costs[i].output_bytes);
  const std::size_t gradients = turn[0] + turn[1];
  for (std::size_t i = 0; i < count; ++i) {
    layout.bytes = std::max(layout.bytes, bottom_after[i] + costs[i].forward_workspace);
    layout.bytes = std::max(layout.bytes, bottom_after[i] + gradients + costs[i].backward_workspace);
  }
  for (std::size_t i = 0; i < count; ++i) {
    layout.output_gradient.push_back(layout.bytes - (i % 2 == 0 ? turn[0] : gradients));
    layout.forward_workspace.push_back(layout.bytes - costs[i].forward_workspace);
    layout.backward_workspace.push_back(layout.bytes - gradients - costs[i].backward_workspace);
  }
  return layout;
}

}  // namespace mylos

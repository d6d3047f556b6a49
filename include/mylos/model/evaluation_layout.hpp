// EvaluationLayout: where the tensors of a forward pass without backward lie. Boundary activations take turns
// at the two ends of the arena and workspace lies between them, so that the arena holds no more than is
// alive.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/model/schedule.hpp"

namespace mylos {

struct EvaluationLayout {
  std::vector<std::size_t> output;     // of each block
  std::vector<std::size_t> workspace;  // of each block, and of the loss
  std::size_t bytes = 0;
};

/// Takes at least `bytes`, the arena that is there anyway.
[[nodiscard]] EvaluationLayout make_evaluation_layout(const ChainCost& cost, std::size_t bytes);

}  // namespace mylos

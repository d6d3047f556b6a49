// Folds the slices that arrived from all ranks into one, by the binary tree over ranks, whatever their type.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/comm/communicator.hpp"

namespace mylos {

/// out[i] = factor × Σ_r parts[r · count + i] (or the maximum over r), accumulated in float (double for
/// fp64) by the binary tree over r (binary_tree.hpp) and rounded once. `out` may be `parts` where ranks is 1.
/// Types fp32, fp16, bf16, fp64.
void fold_in_rank_order(const Execution& execution, const void* parts, int ranks, std::size_t count,
                        DType type, Reduction reduction, float factor, void* out);

}  // namespace mylos

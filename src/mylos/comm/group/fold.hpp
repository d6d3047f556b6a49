// Folds the slices that arrived from all ranks into one, by the binary tree over ranks, whatever their type.
#pragma once

#include "mylos/base/execution.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

// `kernels`: the instance whose kernels compute; null: the calling thread alone does, which may be any thread
// and must reach the memory. Both ways give the same bits.

/// out[i] = factor × Σ_r parts[r · count + i] (or the maximum over r), accumulated in float (double for
/// fp64) by the binary tree over r (binary_tree.hpp) and rounded once. `out` may be `parts` where ranks is 1.
/// Types fp32, fp16, bf16, fp64.
void fold_in_rank_order(const Execution* kernels, const void* parts, int ranks, std::size_t count, DType type,
                        Reduction reduction, float factor, void* out);

/// to[i] = from[i], rounded to the type of `to`: fp32, fp16, bf16. As many elements in both, which do not
/// overlap.
void convert_slice(const Execution* kernels, const CommunicationBuffer& from, const CommunicationBuffer& to);

}  // namespace mylos

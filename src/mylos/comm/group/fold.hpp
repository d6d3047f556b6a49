// Folds the slices received from all ranks into one, by the binary tree over ranks, for any type.
#pragma once

#include "mylos/base/execution_fwd.hpp"
#include "mylos/comm/group/communicator.hpp"

namespace mylos {

// `kernels`: the instance that runs the kernels. If null, the calling thread computes; this may be any
// thread, and it must be able to access the memory. Both give the same bits.

/// Computes out[i] = factor × Σ_r parts[r · count + i] (or the maximum over r), accumulated in float (double
/// for fp64) by the binary tree over r (binary_tree.hpp) and rounded once. `out` may be `parts` if ranks is
/// 1. Types: fp32, fp16, bf16, fp64.
void fold_in_rank_order(const Execution* kernels, const void* parts, int ranks, std::size_t count, DType type,
                        Reduction reduction, float factor, void* out);

/// Computes the same sum where only the slices of other ranks have moved: `others` has them in rank order,
/// and `own` is the slice of `rank`. `out` may be own.data. Types: fp32, fp16, bf16, fp64.
void fold_with_own(const Execution* kernels, const CommunicationBuffer& own, int rank, const void* others,
                   int ranks, float factor, void* out);

/// Computes to[i] = from[i], rounded to the type of `to`. Types: fp32, fp16, bf16. Both have the same number
/// of elements and do not overlap.
void convert_slice(const Execution* kernels, const CommunicationBuffer& from, const CommunicationBuffer& to);

}  // namespace mylos

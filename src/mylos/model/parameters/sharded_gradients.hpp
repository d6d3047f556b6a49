// Sharded gradients: a window of memory in which every bucket has its gradients while they are written and
// reduced, and the slices that a rank stores.
#pragma once

#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Reassigns the offsets of gradients; their order and buckets stay. Masters must be sharded. A bucket reuses
/// the memory neither of the `window` - 1 buckets before it, whose reductions may still be running, nor of
/// buckets that the same block writes. Leaves the gradients unsharded if window and slices would take at
/// least the same memory.
void shard_gradients(ParameterLayout& layout, std::size_t window);

}  // namespace mylos

// Gradients cut over ranks: a window of memory in which every bucket has its gradients for as long as they
// are written and reduced, and the slices that a rank keeps.
#pragma once

#include "mylos/model/parameters/parameter_layout.hpp"

namespace mylos {

/// Places gradients anew; their order and buckets stay. A bucket takes over memory of none of the window - 1
/// before it, which may still be on their way, and of none that the same block writes. Masters are cut.
/// Leaves the gradients whole where window and slices would take as much memory.
void shard_gradients(ParameterLayout& layout, std::size_t window);

}  // namespace mylos

// Where the tensors that only pass lie, counted from the arena's top.
#pragma once

#include <cstddef>
#include <vector>

#include "lifetimes.hpp"

namespace mylos {

/// For each tensor that is not kept, the bytes between the arena's top and its end, such that the largest
/// height + depth over all operations is small. `heights`: of the stack of kept tensors, by operation.
[[nodiscard]] std::vector<std::size_t> transient_depths(const Lifetimes& lifetimes,
                                                        const std::vector<std::size_t>& heights);

}  // namespace mylos

// The memory that 16 bits and recomputation save: that of the same deck without either.
#pragma once

#include <cstddef>

#include "mylos/train/plan/memory_statement.hpp"

namespace mylos {

/// Returns the bytes of a rank whose layers all compute in float and which recomputes nothing, whatever the
/// budget; 0 if there is no such run. Called on one rank.
[[nodiscard]] std::size_t float_rank_bytes(const MemoryProblem& problem);

}  // namespace mylos

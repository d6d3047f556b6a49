// The execution schedule that needs the fewest bytes, whatever its time.
#pragma once

#include <cstddef>

#include "mylos/planner/segments.hpp"

namespace mylos {

/// The same choices as Rotor's, with the peak as what is minimised, in exact bytes:
/// M(i, k) = the least over both ways of the largest of its operations' bytes and of what lies between them.
/// Among schedules of the same peak in a segment, the fastest. Of the order of segments.splits() operations.
[[nodiscard]] Schedule min_memory_schedule(const StageChain& chain);

}  // namespace mylos

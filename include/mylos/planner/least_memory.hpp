// The list of operations that needs the fewest bytes, whatever its time: what decides whether a chain fits.
#pragma once

#include "mylos/model/schedule.hpp"

namespace mylos {

/// The same choices as Rotor's, with the peak as what is minimised, in exact bytes:
/// M(i, k) = the least over both ways of the largest of its operations' bytes and of what lies between them.
/// Among lists of the same peak in a segment, the fastest. Of the order of blocks³ operations.
[[nodiscard]] Schedule least_memory_schedule(const ChainCost& cost);

}  // namespace mylos

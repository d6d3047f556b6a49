// Weights stored in memory in 16 bits and in the file in float (StateArray::memory_type).
#pragma once

#include <cstddef>

#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

/// Converts the piece's values to floats, exactly.
void widen(const StateArray& array, const StatePiece& piece, float* floats);
/// Writes the bytes [first, first + count) of the piece's values as floats; the range may start and end
/// inside a float.
void widen_bytes(const StateArray& array, const StatePiece& piece, std::int64_t first, std::int64_t count,
                 std::byte* bytes);
/// Sets the piece's values from floats, rounded to nearest.
void round_into(const StateArray& array, const StatePiece& piece, const float* floats);

}  // namespace mylos

// Weights that memory holds in 16 bits and the file in floats (StateArray::held_as).
#pragma once

#include <cstddef>

#include "mylos/checkpoint/file/state.hpp"

namespace mylos {

/// floats = the piece's values, exactly.
void widen(const StateArray& array, const StatePiece& piece, float* floats);
/// The same for the bytes [first, first + count) of the piece's floats, which may begin and end within one.
void widen_bytes(const StateArray& array, const StatePiece& piece, std::int64_t first, std::int64_t count,
                 std::byte* bytes);
/// The piece's values = floats, rounded to nearest.
void round_into(const StateArray& array, const StatePiece& piece, const float* floats);

}  // namespace mylos

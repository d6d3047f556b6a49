// The routines of exported C and C++ source.
//
// Both languages have the same text, in which $ begins what differs: $function before a function, $restrict,
// $exp (and others of <math.h>) in the arithmetic's type, and the conversions $real(x) and $double(x).
// Outputs are computed in tiles of 64, 32 and 8, whose sums compilers hold in registers: with the weights of
// one input adjacent, the loop over a tile is vectorised without a change of the order of any sum. For blocks
// of columns a weight is loaded once for four of them. (Tiles of 8 and 16 for four columns are much slower
// than for one: gcc 12 then vectorises across the columns.)
#pragma once

#include <span>
#include <vector>

#include "mylos/interchange/source/routines/source_routine.hpp"

namespace mylos {

/// Returns all, each after those that it calls. `is_double`: their arithmetic.
[[nodiscard]] std::vector<SourceRoutine> c_routines(bool is_double);

// Parts of it, in this order:
[[nodiscard]] std::span<const SourceRoutine> c_functions(bool is_double);
[[nodiscard]] std::span<const SourceRoutine> c_element_routines();
[[nodiscard]] std::span<const SourceRoutine> c_linear_routines();
[[nodiscard]] std::span<const SourceRoutine> c_slope_routines();

/// Of C++ alone: those that the threads of a Kokkos team share.
[[nodiscard]] std::span<const SourceRoutine> team_routines();

}  // namespace mylos

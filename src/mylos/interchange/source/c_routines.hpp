// The routines of exported C and C++ source.
//
// Both languages have the same text, in which $ begins what differs: $function before a function, $restrict,
// $exp (and others of <math.h>) in the arithmetic's type, and the conversions $real(x) and $double(x).
// Vectors of outputs are computed in tiles of 32, whose sums compilers hold in registers: with the weights of
// one input adjacent, the loop over a tile is vectorised without a change of the order of any sum.
#pragma once

#include <span>

#include "mylos/interchange/source/source_routine.hpp"

namespace mylos {

[[nodiscard]] std::span<const SourceRoutine> c_routines();
/// Of C++ alone: those that the threads of a Kokkos team share.
[[nodiscard]] std::span<const SourceRoutine> team_routines();

}  // namespace mylos

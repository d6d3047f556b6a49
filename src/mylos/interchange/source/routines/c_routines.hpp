// The routines of exported C and C++ source.
//
// Both languages have the same text, in which $ begins what differs: $function before a function, $restrict,
// $exp (and others of <math.h>) in the arithmetic's type, and the conversions $real(x) and $double(x).
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
[[nodiscard]] std::vector<SourceRoutine> c_linear_routines(bool is_double);
[[nodiscard]] std::span<const SourceRoutine> c_column_routines();
[[nodiscard]] std::span<const SourceRoutine> c_slope_routines();

/// Of C++ alone: those that the threads of a Kokkos team share.
[[nodiscard]] std::span<const SourceRoutine> team_routines();

}  // namespace mylos

// The routines of exported Fortran source: those of c_routines.hpp, with the same names and arguments.
#pragma once

#include <span>
#include <vector>

#include "mylos/interchange/source/routines/source_routine.hpp"

namespace mylos {

/// Returns all, each after those that it calls.
[[nodiscard]] std::vector<SourceRoutine> fortran_routines();

// Parts of it, in this order:
[[nodiscard]] std::span<const SourceRoutine> fortran_element_routines();
[[nodiscard]] std::span<const SourceRoutine> fortran_linear_routines();
[[nodiscard]] std::span<const SourceRoutine> fortran_column_routines();
[[nodiscard]] std::span<const SourceRoutine> fortran_slope_routines();

}  // namespace mylos

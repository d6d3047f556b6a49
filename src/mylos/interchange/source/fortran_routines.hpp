// The routines of exported Fortran source: those of c_routines.hpp, with the same names and arguments.
#pragma once

#include <span>

#include "mylos/interchange/source/source_routine.hpp"

namespace mylos {

[[nodiscard]] std::span<const SourceRoutine> fortran_routines();

}  // namespace mylos

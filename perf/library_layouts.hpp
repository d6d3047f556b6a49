// GEMMs on operands in a library's preferred layouts, which are faster than those of any engine with
// row-major matrices. They are part of the floor of a step, the limit of the machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// One way to compute a GEMM: run() computes it and waits for the result.
struct GemmCandidate {
  std::string name;
  std::function<void()> run;
};

/// Empty without a library that has such layouts. `a` and `b` are row-major operands with the values.
std::vector<GemmCandidate> gemms_in_library_layouts(const GemmProblem& problem, void* a, void* b);

}  // namespace mylos

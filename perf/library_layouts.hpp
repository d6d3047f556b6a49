// Products on operands in the layouts that a library likes best: faster than any engine can be whose matrices
// are row-major. They belong to the floor of a step, which asks what the machine could do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

/// One way to compute a product: run() computes it and waits for the result.
struct ProductCandidate {
  std::string name;
  std::function<void()> run;
};

/// Without a library that has such layouts: none. `a` and `b` are row-major operands to take values from.
std::vector<ProductCandidate> products_in_library_layouts(const GemmProblem& problem, void* a, void* b);

}  // namespace mylos

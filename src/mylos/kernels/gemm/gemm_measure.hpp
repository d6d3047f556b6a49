// kernels.gemm = "measure": the engines of a machine against each other on the products of a run.
#pragma once

#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

struct GemmMeasurement {
  std::size_t products = 0;  // for which there was a choice
  double seconds = 0;
};

/// Times the alternatives of `gemm` on each product in turns, on memory of its own that it gives back, and
/// has `gemm` choose the fastest. Of large products a part is computed, so that it takes a second or two at
/// most (2 cores with AVX2); of clear ones few runs.
GemmMeasurement measure_products(const Execution& execution, GemmEngine& gemm,
                                 const std::vector<GemmProblem>& products);

}  // namespace mylos

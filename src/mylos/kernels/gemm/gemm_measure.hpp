// kernels.gemm = "measure": measures the engines of a machine on the GEMMs of a run.
#pragma once

#include <vector>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

struct GemmMeasurement {
  std::size_t gemms = 0;  // the number of GEMMs with a choice
  double seconds = 0;
};

/// Times the alternatives of `engine` alternately on each GEMM, on a device with its row sums, in temporary
/// memory, and makes `engine` choose the fastest. Large GEMMs are reduced, so that this takes at most one or
/// two seconds (2 cores with AVX2); clear cases need few runs.
GemmMeasurement measure_gemms(const Execution& execution, GemmEngine& engine,
                              const std::vector<GemmProblem>& gemms);

}  // namespace mylos

// The GEMM engines that other engines use, and the checks that all share. A factory is null if the build
// lacks the engine.
#pragma once

#include <memory>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

using MakeGemm = std::unique_ptr<GemmEngine> (*)();

MakeGemm tiled_gemm();   // hosts
MakeGemm kokkos_gemm();  // everywhere, with Kokkos Kernels

/// Throws Error if the sizes or types of the problem are inconsistent.
void check_gemm_problem(const GemmProblem& problem);

/// Likewise for a batch; also throws if the problem has an epilogue.
void check_gemm_batch(const GemmBatch& batch);

}  // namespace mylos

// Factories of the GEMM engines, one per file, for gemm.cpp. A factory is null if the build lacks the engine.
#pragma once

#include <memory>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

using MakeGemm = std::unique_ptr<GemmEngine> (*)();

MakeGemm cublaslt_gemm();  // NVIDIA devices
/// Uses the fastest algorithm according to measurements.
MakeGemm measured_cublaslt_gemm();
MakeGemm onednn_gemm();  // hosts with oneDNN
MakeGemm tiled_gemm();   // hosts
MakeGemm kokkos_gemm();  // everywhere, with Kokkos Kernels

/// Uses oneDNN or the tiles for each problem, according to gemm_table.hpp; null if the build lacks one of
/// them. The second function uses the selection by choose() first.
MakeGemm table_gemm();
MakeGemm measured_gemm();

/// Throws Error if the sizes or types of the problem are inconsistent.
void check_gemm_problem(const GemmProblem& problem);

/// Likewise for a batch; also throws if the problem has an epilogue.
void check_gemm_batch(const GemmBatch& batch);

}  // namespace mylos

// What each engine's file offers to gemm.cpp: how to make the engine, null where it is not in this build.
#pragma once

#include <memory>

#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {

using MakeGemm = std::unique_ptr<GemmEngine> (*)();

MakeGemm cublaslt_gemm();  // NVIDIA devices
/// By its fastest algorithm, as is measured.
MakeGemm measured_cublaslt_gemm();
MakeGemm onednn_gemm();  // hosts with oneDNN
MakeGemm tiled_gemm();   // hosts
MakeGemm kokkos_gemm();  // everywhere, with Kokkos Kernels

/// Each problem by oneDNN or by the tiles, as gemm_table.hpp says; null where one of them is not in this
/// build. The other one goes by what choose() says first.
MakeGemm table_gemm();
MakeGemm measured_gemm();

/// Throws Error when the sizes or types of the problem do not go together.
void check_gemm_problem(const GemmProblem& problem);

/// Likewise, or when the problem wants more than a product.
void check_gemm_batch(const GemmBatch& batch);

}  // namespace mylos

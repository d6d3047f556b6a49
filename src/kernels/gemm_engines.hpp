// What each engine's file offers to gemm.cpp: how to make the engine, null where it is not in this build.
#pragma once

#include <memory>

#include "mylos/kernels/gemm.hpp"

namespace mylos {

using MakeGemm = std::unique_ptr<GemmEngine> (*)();

MakeGemm cublaslt_gemm();  // NVIDIA devices
MakeGemm onednn_gemm();    // hosts with oneDNN
MakeGemm tiled_gemm();     // hosts
MakeGemm kokkos_gemm();    // everywhere, with Kokkos Kernels

/// Each problem by the faster of oneDNN and the tiles; null where one of them is not in this build.
MakeGemm faster_host_gemm();

/// Whether the tiles beat oneDNN: a rule of shapes, type and the processor that this was compiled for, so
/// that a restart makes the same choice.
bool tiles_are_faster(const GemmProblem& problem);

/// Throws Error when the sizes or types of the problem do not go together.
void check_gemm_problem(const GemmProblem& problem);

}  // namespace mylos

// [kernels]: the GEMM engine, its instruction set, and how the kernels of a step are launched. Also the
// activation functions that kernels support.
#pragma once

#include <optional>

#include "mylos/base/instructions.hpp"

namespace mylos {

/// The GEMM engine that a deck selects. `automatic` chooses by a table of earlier measurements
/// (src/mylos/kernels/gemm/tiles/gemm_table.cpp); `measure` chooses by measuring at the start of the run.
enum class GemmChoice { automatic, measure, onednn, cublaslt, kokkos, tiles };

enum class Activation { none, relu, gelu, gelu_tanh, tanh, silu };

struct KernelOptions {
  GemmChoice gemm = GemmChoice::automatic;
  std::optional<Instructions> instructions = {};  // none: the set in use, by default the processor's best
  bool graphs = true;                             // NVIDIA devices: capture steps as CUDA graphs

  bool operator==(const KernelOptions&) const = default;
};

}  // namespace mylos

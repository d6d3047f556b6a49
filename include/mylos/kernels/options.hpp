// [kernels]: which engine computes the products, by which instructions, and how a step's kernels are
// launched; and the activation functions that kernels know.
#pragma once

#include <optional>

#include "mylos/base/instructions.hpp"

namespace mylos {

/// `automatic`: by a table of what was measured before (src/mylos/kernels/gemm/tiles/gemm_table.cpp).
/// `measure`: by what is measured when the run starts.
enum class GemmChoice { automatic, measure, onednn, cublaslt, kokkos, tiles };

enum class Activation { none, relu, gelu, gelu_tanh, tanh, silu };

struct KernelOptions {
  GemmChoice gemm = GemmChoice::automatic;
  std::optional<Instructions> instructions = {};  // nothing: those in use, at first the processor's best
  bool graphs = true;                             // NVIDIA devices: steps are recorded (WorkRecorder)

  bool operator==(const KernelOptions&) const = default;
};

}  // namespace mylos

// [kernels]: which engine computes the products; and the activation functions that kernels know.
#pragma once

namespace mylos {

enum class GemmChoice { automatic, onednn, cublaslt, kokkos, tiles };

enum class Activation { none, relu, gelu, gelu_tanh, tanh, silu };

struct KernelOptions {
  GemmChoice gemm = GemmChoice::automatic;

  bool operator==(const KernelOptions&) const = default;
};

}  // namespace mylos

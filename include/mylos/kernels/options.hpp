// [kernels]: which engine computes the products.
#pragma once

namespace mylos {

enum class GemmChoice { automatic, onednn, cublaslt, kokkos };

struct KernelOptions {
  GemmChoice gemm = GemmChoice::automatic;
};

}  // namespace mylos

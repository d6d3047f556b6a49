// Replaces gemm_kokkos.cpp in builds without Kokkos Kernels.
#include "mylos/kernels/gemm/gemm_engines.hpp"

namespace mylos {

MakeGemm kokkos_gemm() {
  return nullptr;
}

}  // namespace mylos

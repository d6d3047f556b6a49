// This build has no Kokkos Kernels.
#include "gemm_engines.hpp"

namespace mylos {

MakeGemm kokkos_gemm() {
  return nullptr;
}

}  // namespace mylos

// Replaces gemm_chosen.cpp in device builds, where one library computes all GEMMs.
#include "mylos/kernels/gemm/gemm_engines.hpp"

namespace mylos {

MakeGemm table_gemm() {
  return nullptr;
}

MakeGemm measured_gemm() {
  return measured_cublaslt_gemm();
}

}  // namespace mylos

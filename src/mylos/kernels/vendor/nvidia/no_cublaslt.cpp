// Replaces gemm_cublaslt.cpp in builds without cuBLASLt.
#include "mylos/kernels/gemm/gemm_engines.hpp"

namespace mylos {

MakeGemm cublaslt_gemm() {
  return nullptr;
}

MakeGemm measured_cublaslt_gemm() {
  return nullptr;
}

}  // namespace mylos

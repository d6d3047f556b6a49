// This build has no oneDNN.
#include "gemm_engines.hpp"

namespace mylos {

MakeGemm onednn_gemm() {
  return nullptr;
}

}  // namespace mylos

// This build runs on a device, where one engine computes all products.
#include "gemm_engines.hpp"

namespace mylos {

MakeGemm table_gemm() {
  return nullptr;
}

MakeGemm measured_gemm() {
  return nullptr;
}

}  // namespace mylos

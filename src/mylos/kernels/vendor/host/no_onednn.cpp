// Replaces the files of oneDNN in builds without it.
#include "mylos/kernels/convolution/library_convolution.hpp"
#include "mylos/kernels/gemm/gemm_engines.hpp"
#include "mylos/kernels/gemm/onednn_instructions.hpp"

namespace mylos {

MakeGemm onednn_gemm() {
  return nullptr;
}

std::unique_ptr<LibraryConvolution> make_onednn_convolution() {
  return nullptr;
}

namespace onednn {

void limit_to(Instructions) {}
std::string limit() {
  return "";
}
bool multiplies_bfloat16() {
  return false;
}
bool uses_matrix_unit() {
  return false;
}
bool is_limited_below(Instructions) {
  return false;
}
bool could_use_matrix_unit() {
  return false;
}

}  // namespace onednn
}  // namespace mylos

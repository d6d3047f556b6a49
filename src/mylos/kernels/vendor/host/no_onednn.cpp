// Replaces the files of oneDNN in builds without it.
#include "mylos/kernels/gemm/onednn_instructions.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"

namespace mylos {

MakeEngines onednn_engines() {
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

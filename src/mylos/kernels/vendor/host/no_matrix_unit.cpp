// Processors of this architecture have none that oneDNN uses for bfloat16.
#include "mylos/kernels/gemm/matrix_unit.hpp"

namespace mylos {

bool processor_has_matrix_unit() {
  return false;
}

}  // namespace mylos

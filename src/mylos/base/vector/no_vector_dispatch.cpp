// Kernels run on a device: no vector code for hosts is in this build.
#include "mylos/base/vector/vector_dispatch.hpp"

namespace mylos::vector_dispatch {

bool has(Instructions instructions) {
  return instructions == Instructions::baseline;
}

Instructions in_use() {
  return Instructions::baseline;
}

void use(Instructions) {}

}  // namespace mylos::vector_dispatch
